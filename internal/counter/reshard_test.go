package counter

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/firestore"

	"github.com/atlasmart/ordertally/internal/emulator/emulatortest"
)

// TestReshard has several ask for different numbers at once: each applies, and the records chain
// from the first number to the last.
func TestReshard(t *testing.T) {
	t.Parallel()
	client := emulatortest.New(t).Firestore()
	define(t, client, "orders", 10)
	var wg sync.WaitGroup
	for _, n := range []int{3, 17, 1, 400} {
		wg.Go(func() {
			was, err := Reshard(t.Context(), client, "orders", n, fmt.Sprint("op-", n))
			if err != nil || was == n {
				t.Errorf("to %d: from %d, %v", n, was, err)
			}
		})
	}
	wg.Wait()
	next := map[int64]int64{}
	for _, d := range records(t, client, "reshards") {
		next[d["from"].(int64)] = d["to"].(int64)
		if at, ok := d["at"].(time.Time); !ok || time.Since(at).Abs() > time.Minute ||
			d["by"] != fmt.Sprint("op-", d["to"]) {
			t.Errorf("record %v", d)
		}
	}
	now := int64(10)
	for range 4 {
		now = next[now]
	}
	if def := define(t, client, "orders", 5); int64(def.Shards) != now || len(next) != 4 {
		t.Errorf("%d shards, and the records are %v", def.Shards, next)
	}
	was, err := Reshard(t.Context(), client, "orders", int(now), "again")
	if was != int(now) || err != nil || len(records(t, client, "reshards")) != 4 {
		t.Errorf("to what it is: from %d, %v, want no change and no record", was, err)
	}
	for _, n := range []int{0, -1, MaxShards + 1} {
		if _, err := Reshard(t.Context(), client, "orders", n, "me"); err == nil {
			t.Errorf("to %d: no error", n)
		}
	}
	if _, err := Reshard(t.Context(), client, "nobody", 3, "me"); !errors.Is(err, ErrNotFound) {
		t.Errorf("an unknown counter: %v", err)
	}
}

// records returns the documents of a collection below counters/orders.
func records(t *testing.T, client *firestore.Client, collection string) []map[string]any {
	t.Helper()
	snaps, err := client.Collection("counters/orders/" + collection).Documents(t.Context()).GetAll()
	if err != nil {
		t.Fatal(err)
	}
	var all []map[string]any
	for _, s := range snaps {
		all = append(all, s.Data())
	}
	return all
}
