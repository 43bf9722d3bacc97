package counter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"pgregory.net/rapid"
)

// A delivery is one message of the model: an order, some time after the one before it.
type delivery struct {
	ID    string
	After time.Duration
}

// A fate is what the store does with one commit.
type fate struct {
	Code codes.Code // OK: nothing special
	Lost bool       // the commit is applied, and the answer is lost
}

// A scenario is a stream of deliveries, the fates of the first commits, and restarts.
type scenario struct {
	Shards, GroupMax int
	Linger           time.Duration
	Deliveries       []delivery
	Fates            []fate
	Restarts         []int // before which deliveries the worker is replaced
	Reshards         []reshard
}

// A reshard is a new number of shards, before one of the deliveries.
type reshard struct{ Before, Shards int }

var badCodes = []codes.Code{codes.OK, codes.OK, codes.OK, codes.Unavailable, codes.Aborted,
	codes.DeadlineExceeded, codes.ResourceExhausted, codes.Internal, codes.Unknown,
	codes.PermissionDenied}

func drawScenario(t *rapid.T) scenario {
	ids := rapid.IntRange(1, 30).Draw(t, "distinct")
	return scenario{
		Shards:   rapid.IntRange(1, 4).Draw(t, "shards"),
		GroupMax: rapid.IntRange(1, 8).Draw(t, "groupMax"),
		Linger:   time.Duration(rapid.IntRange(0, 5).Draw(t, "linger")) * time.Millisecond,
		Deliveries: rapid.SliceOfN(rapid.Custom(func(t *rapid.T) delivery {
			return delivery{
				ID:    fmt.Sprint("ord-", rapid.IntRange(0, ids-1).Draw(t, "id")),
				After: time.Duration(rapid.IntRange(0, 30).Draw(t, "after")) * time.Millisecond,
			}
		}), 1, 120).Draw(t, "deliveries"),
		Fates: rapid.SliceOfN(rapid.Custom(func(t *rapid.T) fate {
			return fate{rapid.SampledFrom(badCodes).Draw(t, "code"), rapid.Bool().Draw(t, "lost")}
		}), 0, 40).Draw(t, "fates"),
		Restarts: rapid.SliceOfN(rapid.IntRange(1, 119), 0, 3).Draw(t, "restarts"),
		Reshards: rapid.SliceOfN(rapid.Custom(func(t *rapid.T) reshard {
			return reshard{rapid.IntRange(1, 119).Draw(t, "before"), rapid.IntRange(1, 9).Draw(t, "to")}
		}), 0, 4).Draw(t, "reshards"),
	}
}

// TestModel holds the counter against the whole truth about an exact counter: the number of
// distinct orders. Whatever is delivered twice, lost, refused for a while, restarted or resharded,
// the shards sum to it and so do the markers, and no order is called counted twice.
func TestModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := drawScenario(rt)
		var problem error
		synctest.Test(t, func(t *testing.T) { problem = s.play() })
		if problem != nil {
			rt.Fatal(problem)
		}
	})
}

// play delivers the scenario, redelivering what was not settled, as Pub/Sub does.
func (s scenario) play() error {
	store := s.store()
	distinct := map[string]bool{}
	var tally tally
	var current atomic.Pointer[Counter]
	var wg sync.WaitGroup
	current.Store(s.start(store))
	for i, d := range s.Deliveries {
		time.Sleep(d.After)
		if slices.Contains(s.Restarts, i) {
			current.Load().Close()
			current.Store(s.start(store))
		}
		for _, r := range s.Reshards {
			if r.Before == i {
				store.define(r.Shards, nil)
			}
		}
		distinct[d.ID] = true
		wg.Go(func() { tally.deliver(&current, d.ID) })
		synctest.Wait()
	}
	wg.Wait()
	current.Load().Close()
	return tally.verify(store, distinct)
}

// A tally is how often each order was called counted.
type tally struct {
	mu      sync.Mutex
	counted map[string]int
}

// deliver adds the order to whichever counter runs, until it is settled.
func (a *tally) deliver(current *atomic.Pointer[Counter], id string) {
	for {
		outcome, err := current.Load().Add(context.Background(), order(id))
		if errors.Is(err, ErrClosed) {
			time.Sleep(time.Millisecond) // the redelivery
			continue
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.counted == nil {
			a.counted = map[string]int{}
		}
		if outcome == Counted {
			a.counted[id]++
		}
		return
	}
}

func (a *tally) verify(store *fakeStore, distinct map[string]bool) error {
	count, markers := store.total()
	if count != int64(len(distinct)) || markers != len(distinct) {
		return fmt.Errorf("%d distinct orders, but the shards sum to %d and there are %d markers",
			len(distinct), count, markers)
	}
	for id, n := range a.counted {
		if n > 1 {
			return fmt.Errorf("%s was called counted %d times", id, n)
		}
	}
	return nil
}

func (s scenario) start(store *fakeStore) *Counter {
	c, err := start(store, "orders", Definition{Shards: s.Shards, Location: time.UTC},
		Options{GroupMax: s.GroupMax, Linger: s.Linger, Follow: 100 * time.Millisecond})
	if err != nil {
		panic(err) // the metrics of no meter: cannot be
	}
	return c
}

func (s scenario) store() *fakeStore {
	store := newFakeStore()
	store.live = s.Shards
	store.latency = 7 * time.Millisecond
	strike := func(lost bool) func(int, *batch) error {
		return func(n int, _ *batch) error {
			if n > len(s.Fates) || s.Fates[n-1].Code == codes.OK || s.Fates[n-1].Lost != lost {
				return nil
			}
			return status.Error(s.Fates[n-1].Code, "fate")
		}
	}
	store.refuse, store.lose = strike(false), strike(true)
	return store
}
