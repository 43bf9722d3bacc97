package counter

import (
	"testing"
	"time"

	"github.com/atlasmart/ordertally/internal/emulator/emulatortest"
	"github.com/atlasmart/ordertally/internal/evidence"
)

// TestWithoutItsMarker shows what is not guaranteed, by how much, and how it shows: an order whose
// marker is gone, deleted by hand or because it expired, is counted again when it is sent again.
func TestWithoutItsMarker(t *testing.T) {
	t.Parallel()
	client := emulatortest.New(t).Firestore()
	def := define(t, client, "orders", 2)
	o := Order{ID: "ord-1", AcceptedAt: time.Now(), PublishedAt: time.Now()}
	send := func() Outcome { // to a worker that has no memory of it
		c, err := New(client, "orders", def, Options{GroupMax: 1, MarkerTTL: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		outcome, err := c.Add(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		return outcome
	}
	check := func(when string, count, drift int64) {
		t.Helper()
		a, err := Audit(t.Context(), client, "orders")
		if err != nil {
			t.Fatal(err)
		}
		if a.Count != count || a.Drift != drift || a.OK != (drift == 0) {
			t.Errorf("%s: a count of %d and a drift of %d, want %d and %d",
				when, a.Count, a.Drift, count, drift)
		}
	}
	if got := send(); got != Counted {
		t.Errorf("the first time it is %v", got)
	}
	if got := send(); got != Duplicate {
		t.Errorf("the second time it is %v", got)
	}
	check("counted once", 1, 0)
	_, err := client.Collection(markersCollection).Doc(o.Event("orders").String()).Delete(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	check("its marker deleted", 1, 1)
	if got := send(); got != Counted {
		t.Errorf("without its marker it is %v, and the guarantee would be better than it says", got)
	}
	check("sent again", 2, 1)
	if t.Failed() {
		return
	}
	evidence.Record(evidence.Row{
		Fault: "not guaranteed: a marker is gone, and its order is sent again",
		How:   "the marker is deleted by hand, as a TTL policy would", Times: 1,
		Checked: "outcome of the copy, total, audit before and after",
		Result:  "counted again: total +1; the audit says drift +1 as soon as the marker is gone",
	})
}
