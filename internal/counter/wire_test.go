package counter

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/atlasmart/ordertally/internal/emulator/emulatortest"
	"github.com/atlasmart/ordertally/internal/evidence"
	"github.com/atlasmart/ordertally/internal/fault"
)

// TestBrokenWire sends doubled orders through two workers whose calls to the emulator fail with
// every transient code, before they are applied and after. The client has retries of its own for
// some codes, and a transaction whose answer was lost looks closed to them: what it makes of the
// faults is its own, and the counts are exact all the same.
func TestBrokenWire(t *testing.T) {
	for _, code := range fault.Transient {
		for _, kind := range []fault.Kind{fault.Refuse, fault.Lose} {
			t.Run(fmt.Sprintf("%v %v", code, kind), func(t *testing.T) {
				t.Parallel()
				seed := rand.Uint64()
				t.Logf("seed %d", seed)
				// Twelve calls, a third of those that pass until then.
				w := fault.New(seed, fault.Rule{Kind: kind, Code: code, Share: 1. / 3, Times: 12,
					Methods: []string{"BeginTransaction", "Commit"}})
				carry(t, w)
				recordWire(t, kind, code, w.Total())
			})
		}
	}
}

func recordWire(t *testing.T, kind fault.Kind, code codes.Code, times int) {
	t.Helper()
	if t.Failed() {
		return
	}
	evidence.Record(evidence.Row{
		Fault: fmt.Sprintf("a call of a commit is %s: %v", kind, code),
		How:   "interceptor, a third of BeginTransaction and Commit", Times: times,
		Checked: "two counters: total = markers = orders, each called counted once",
		Result:  fmt.Sprintf("%d of %d orders, each added twice; drift 0", wireOrders, wireOrders),
	})
}

// wireOrders are added twice on each wire.
const wireOrders = 90

func carry(t *testing.T, w *fault.Wire) {
	env := emulatortest.New(t)
	sound := env.Firestore()
	def := define(t, sound, "orders", 3)
	var counters []*Counter
	for range 2 {
		broken := env.Firestore(w.Options()...)
		c, err := New(broken, "orders", def, Options{GroupMax: 7, MarkerTTL: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		counters = append(counters, c)
	}
	var mu sync.Mutex
	counted := map[string]int{}
	var wg sync.WaitGroup
	for i := range 2 * wireOrders {
		id := fmt.Sprint("ord-", i%wireOrders)
		wg.Go(func() {
			got, err := counters[i%2].Add(t.Context(), order(id))
			if err != nil {
				t.Errorf("adding %s: %v", id, err)
			}
			mu.Lock()
			defer mu.Unlock()
			if got == Counted {
				counted[id]++
			}
		})
	}
	wg.Wait()
	if w.Total() == 0 {
		t.Error("the wire never broke")
	}
	a, err := Audit(t.Context(), sound, "orders")
	if err != nil || !a.OK || a.Count != wireOrders {
		t.Errorf("audit: %+v, %v, want %d", a, err, wireOrders)
	}
	for id, n := range counted {
		if n != 1 {
			t.Errorf("%s was called counted %d times", id, n)
		}
	}
	if len(counted) != wireOrders {
		t.Errorf("%d orders were called counted, want %d", len(counted), wireOrders)
	}
}
