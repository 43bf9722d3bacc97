package main

import (
	"strings"
	"testing"

	"github.com/atlasmart/ordertally/internal/child"
)

// TestDrained_workerGone wants a drain to end when the worker that should do it has, and not to
// wait until patience is over.
func TestDrained_workerGone(t *testing.T) {
	gone, err := child.Start("worker-1", t.TempDir(), nil, "false")
	if err != nil {
		t.Fatal(err)
	}
	defer gone.Kill() // its guard is left
	<-gone.Done()
	f := &fleet{house: &house{ledger: newLedger()}, lives: []*life{{Child: gone, witness: &witness{}}}}
	f.ledger.publish("m-1", "ord-1")
	err = f.drained(t.Context(), nil, 1, f.standing)
	if err == nil || !strings.Contains(err.Error(), "worker-1 ended by itself: exit status 1") {
		t.Errorf("%v, want that the worker ended", err)
	}
}
