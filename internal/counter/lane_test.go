package counter

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func order(id string) Order { return Order{ID: id, AcceptedAt: noon, PublishedAt: noon} }

// A bench is a counter on a fake store, inside a synctest bubble.
type bench struct {
	*Counter
	store *fakeStore
	wg    sync.WaitGroup

	mu      sync.Mutex
	results map[string][]string // by order id, in the order in which they were added
}

// inBubble runs f in a synctest bubble with a counter of the given shards.
func inBubble(t *testing.T, shards int, opts Options, f func(t *testing.T, b *bench)) {
	synctest.Test(t, func(t *testing.T) {
		b := &bench{store: newFakeStore(), results: map[string][]string{}}
		b.store.latency = 10 * time.Millisecond
		if opts.GroupMax == 0 {
			opts.GroupMax = MaxGroup
		}
		c, err := start(b.store, "orders", Definition{Shards: shards, Location: time.UTC}, opts)
		if err != nil {
			t.Fatal(err)
		}
		b.Counter = c
		defer c.Close()
		synctest.Wait() // the lanes wait for orders
		f(t, b)
	})
}

// add starts an Add of each order, in this sequence.
func (b *bench) add(ids ...string) {
	for _, id := range ids {
		b.mu.Lock()
		i := len(b.results[id])
		b.results[id] = append(b.results[id], "")
		b.mu.Unlock()
		b.wg.Go(func() {
			got, err := b.Add(context.Background(), order(id))
			b.mu.Lock()
			defer b.mu.Unlock()
			b.results[id][i] = result(got, err)
		})
		synctest.Wait()
	}
}

func result(o Outcome, err error) string {
	var refused *RefusedError
	switch {
	case errors.As(err, &refused):
		return "refused"
	case errors.Is(err, ErrClosed):
		return "closed"
	case err != nil:
		return err.Error()
	}
	return o.String()
}

// settled waits for every Add and compares the results.
func (b *bench) settled(t *testing.T, want map[string][]string) {
	t.Helper()
	b.wg.Wait()
	if diff := cmp.Diff(want, b.results); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
}

// counts checks the sum of the shards against the markers, and both against want.
func (b *bench) counts(t *testing.T, want int64) {
	t.Helper()
	if count, markers := b.store.total(); count != want || int64(markers) != want {
		t.Errorf("the shards sum to %d and there are %d markers, want %d of both",
			count, markers, want)
	}
}

func TestGroupsGrowWhileACommitIsInFlight(t *testing.T) {
	inBubble(t, 1, Options{}, func(t *testing.T, b *bench) {
		b.add("a", "b", "c", "d")
		b.wg.Wait()
		want := [][]string{{"a"}, {"b", "c", "d"}}
		if diff := cmp.Diff(want, b.store.commits); diff != "" {
			t.Errorf("commits (-want +got):\n%s", diff)
		}
		b.counts(t, 4)
	})
}

func TestGroupsAreBounded(t *testing.T) {
	inBubble(t, 1, Options{GroupMax: 2}, func(t *testing.T, b *bench) {
		b.add("a", "b", "c", "d", "e", "f")
		b.wg.Wait()
		want := [][]string{{"a"}, {"b", "c"}, {"d", "e"}, {"f"}}
		if diff := cmp.Diff(want, b.store.commits); diff != "" {
			t.Errorf("commits (-want +got):\n%s", diff)
		}
	})
}

func TestLinger(t *testing.T) {
	inBubble(t, 1, Options{GroupMax: 3, Linger: time.Second}, func(t *testing.T, b *bench) {
		start := time.Now()
		b.add("a")
		b.wg.Wait()
		if took := time.Since(start); took != time.Second+b.store.latency {
			t.Errorf("a lone order took %v, want the linger and one commit", took)
		}
		synctest.Wait() // the lane is idle again: right after a commit it takes what is there
		start = time.Now()
		b.add("b", "c", "d")
		b.wg.Wait()
		if took := time.Since(start); took != b.store.latency {
			t.Errorf("a full group took %v, want one commit", took)
		}
		want := [][]string{{"a"}, {"b", "c", "d"}}
		if diff := cmp.Diff(want, b.store.commits); diff != "" {
			t.Errorf("commits (-want +got):\n%s", diff)
		}
	})
}

func TestLanesCommitAtTheSameTime(t *testing.T) {
	inBubble(t, 16, Options{}, func(t *testing.T, b *bench) {
		start := time.Now()
		for i := range 16 {
			b.add(fmt.Sprint("order-", i))
		}
		b.wg.Wait()
		// Some lanes got two, whose second commit follows the first.
		if took := time.Since(start); took > 2*b.store.latency {
			t.Errorf("took %v, want lanes side by side", took)
		}
		b.counts(t, 16)
	})
}

func TestCopiesInAGroupAreOneEvent(t *testing.T) {
	inBubble(t, 1, Options{}, func(t *testing.T, b *bench) {
		b.add("first", "a", "a", "b", "a")
		b.settled(t, map[string][]string{
			"first": {"counted"}, "a": {"counted", "duplicate", "duplicate"}, "b": {"counted"},
		})
		want := [][]string{{"first"}, {"a", "b"}}
		if diff := cmp.Diff(want, b.store.commits); diff != "" {
			t.Errorf("commits (-want +got):\n%s", diff)
		}
		b.counts(t, 3)
	})
}

func TestACopyJoinsTheCommitInFlight(t *testing.T) {
	inBubble(t, 1, Options{}, func(t *testing.T, b *bench) {
		b.add("a", "a") // the second comes while the first is being committed
		b.settled(t, map[string][]string{"a": {"counted", "duplicate"}})
		if n := len(b.store.commits); n != 1 {
			t.Errorf("%d commits, want 1", n)
		}
	})
}

func TestMemoryAnswersWithoutACall(t *testing.T) {
	inBubble(t, 1, Options{}, func(t *testing.T, b *bench) {
		b.add("a")
		b.wg.Wait()
		start := time.Now()
		b.add("a")
		b.settled(t, map[string][]string{"a": {"counted", "duplicate"}})
		if len(b.store.commits) != 1 || b.store.reads != 0 || time.Since(start) != 0 {
			t.Errorf("%d commits and %d reads in %v for a copy, want none at once",
				len(b.store.commits)-1, b.store.reads, time.Since(start))
		}
	})
}

func TestClose(t *testing.T) {
	t.Run("ends the waiting", func(t *testing.T) {
		inBubble(t, 1, Options{}, func(t *testing.T, b *bench) {
			b.store.refuse = func(int, *batch) error {
				return status.Error(codes.Unavailable, "down")
			}
			b.add("a")
			b.add("b") // pending behind the group that is tried again
			b.Close()
			b.add("c")
			b.settled(t, map[string][]string{"a": {"closed"}, "b": {"closed"}, "c": {"closed"}})
		})
	})
	t.Run("may be too late for a commit on its way", func(t *testing.T) {
		inBubble(t, 1, Options{}, func(t *testing.T, b *bench) {
			b.store.lose = func(int, *batch) error {
				return status.Error(codes.Unavailable, "answer lost")
			}
			b.add("a")
			time.Sleep(b.store.latency + time.Millisecond)
			b.Close()
			b.settled(t, map[string][]string{"a": {"closed"}})
			b.counts(t, 1)
		})
	})
}

func TestAddEndsWithItsContext(t *testing.T) {
	inBubble(t, 1, Options{}, func(t *testing.T, b *bench) {
		ctx, cancel := context.WithTimeout(context.Background(), b.store.latency/2)
		defer cancel()
		if _, err := b.Add(ctx, order("a")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Add: %v, want the context's error", err)
		}
		b.add("a") // joins the commit that goes on, or meets its marker
		b.settled(t, map[string][]string{"a": {"duplicate"}})
		b.counts(t, 1)
	})
}
