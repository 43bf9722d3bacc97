package counter

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// known puts the markers of orders into the store, as another worker's commit.
func (b *bench) known(t *testing.T, ids ...string) {
	t.Helper()
	other := &batch{commit: "another worker's"}
	for _, id := range ids {
		e := &entry{id: order(id).Event("orders"), order: order(id), day: "2026-11-30"}
		other.entries = append(other.entries, e)
	}
	if err := b.store.apply(other); err != nil {
		t.Fatal(err)
	}
}

func TestADuplicateDoesNotFailItsNeighbours(t *testing.T) {
	inBubble(t, 1, Options{Linger: time.Millisecond}, func(t *testing.T, b *bench) {
		b.known(t, "b", "d")
		b.add("a", "b", "c", "d")
		b.settled(t, map[string][]string{
			"a": {"counted"}, "b": {"duplicate"}, "c": {"counted"}, "d": {"duplicate"}})
		want := [][]string{{"a", "b", "c", "d"}, {"a", "c"}}
		if diff := cmp.Diff(want, b.store.commits); diff != "" {
			t.Errorf("commits (-want +got):\n%s", diff)
		}
		if b.store.reads != 1 {
			t.Errorf("%d reads, want 1", b.store.reads)
		}
		b.counts(t, 4)
	})
}

// TestLanesShareWhatTheyMeet replays orders to one lane, and wants another to read first at once.
func TestLanesShareWhatTheyMeet(t *testing.T) {
	inBubble(t, 2, Options{Linger: time.Millisecond}, func(t *testing.T, b *bench) {
		replayed := ordersOf(0, 2, duplicatesReplay)
		other := orderOf(t, map[int]int{2: 1})
		b.known(t, append(replayed, other)...)
		b.add(replayed...)
		b.wg.Wait()
		refused, reads := len(b.store.commits), b.store.reads
		b.add(other)
		b.wg.Wait()
		if got := len(b.store.commits) - refused; got != 0 || b.store.reads != reads+1 {
			t.Errorf("%d commits and %d reads for a known order after a replay in another lane, "+
				"want one read alone", got, b.store.reads-reads)
		}
		b.counts(t, int64(len(replayed)+1))
	})
}

// ordersOf returns n order ids whose events have the given shard of so many.
func ordersOf(shard, shards, n int) (ids []string) {
	for i := 0; len(ids) < n; i++ {
		if id := fmt.Sprint("ord-", i); order(id).Event("orders").Shard(shards) == shard {
			ids = append(ids, id)
		}
	}
	return ids
}

// TestAMarkerThatCannotBeSeen is about a store that refuses a commit for a marker which the read
// does not show: a race that a pause lets pass, and no reason to ask as fast as it goes.
func TestAMarkerThatCannotBeSeen(t *testing.T) {
	inBubble(t, 1, Options{}, func(t *testing.T, b *bench) {
		b.store.refuse = func(n int, _ *batch) error {
			if n <= 5 {
				return status.Error(codes.AlreadyExists, "")
			}
			return nil
		}
		start := time.Now()
		b.add("a")
		b.settled(t, map[string][]string{"a": {"counted"}})
		// Six commits and five reads, and a growing pause before each commit but the first two.
		calls := 11 * b.store.latency
		if took := time.Since(start) - calls; took < 350*time.Millisecond || took > time.Second {
			t.Errorf("paused %v in all, want 50 + 100 + 200 + 400 ms or at least half of it", took)
		}
	})
}

func TestALostAnswerIsOurs(t *testing.T) {
	for _, code := range []codes.Code{codes.Unavailable, codes.DeadlineExceeded, codes.Internal,
		codes.Unknown, codes.Aborted, codes.ResourceExhausted, codes.InvalidArgument,
		codes.Canceled} {
		t.Run(code.String(), func(t *testing.T) {
			inBubble(t, 1, Options{Linger: time.Millisecond}, func(t *testing.T, b *bench) {
				b.known(t, "c")
				b.store.lose = func(n int, _ *batch) error {
					if n == 2 { // the first meets c's marker
						return status.Error(code, "answer lost")
					}
					return nil
				}
				b.add("a", "b", "c")
				b.settled(t, map[string][]string{
					"a": {"counted"}, "b": {"counted"}, "c": {"duplicate"}})
				b.counts(t, 3)
			})
		})
	}
}

func TestTransientErrorsAreRetried(t *testing.T) {
	for _, err := range []error{
		status.Error(codes.Unavailable, ""), status.Error(codes.Aborted, ""),
		status.Error(codes.DeadlineExceeded, ""), status.Error(codes.Internal, ""),
		status.Error(codes.Unknown, ""), status.Error(codes.ResourceExhausted, ""),
		fmt.Errorf("the client's backoff was cut: %w", context.DeadlineExceeded),
		errors.New("something else"),
	} {
		t.Run(fmt.Sprint(err), func(t *testing.T) {
			inBubble(t, 1, Options{Linger: time.Millisecond}, func(t *testing.T, b *bench) {
				b.store.refuse = func(n int, _ *batch) error {
					if n <= 12 {
						return err
					}
					return nil
				}
				start := time.Now()
				b.add("a", "b")
				b.settled(t, map[string][]string{"a": {"counted"}, "b": {"counted"}})
				b.counts(t, 2)
				// 12 pauses, from 50 ms doubling to 5 s, each at least half of that.
				if took := time.Since(start); took < 15*time.Second || took > time.Minute {
					t.Errorf("12 failures took %v, want a growing and bounded backoff", took)
				}
				if b.Ready() != nil {
					t.Errorf("Ready: %v, want nil: it passed", b.Ready())
				}
			})
		})
	}
}

func TestAFailedReadIsRetried(t *testing.T) {
	inBubble(t, 1, Options{Linger: time.Millisecond}, func(t *testing.T, b *bench) {
		b.known(t, "a")
		b.store.unread = func(n int) error {
			if n < 3 {
				return status.Error(codes.Unavailable, "")
			}
			return nil
		}
		b.add("a", "b")
		b.settled(t, map[string][]string{"a": {"duplicate"}, "b": {"counted"}})
		b.counts(t, 2)
	})
}

func TestABadOrderStandsAlone(t *testing.T) {
	inBubble(t, 1, Options{Linger: time.Millisecond}, func(t *testing.T, b *bench) {
		b.store.refuse = func(_ int, got *batch) error {
			for _, e := range got.entries {
				if e.order.ID == "bad" {
					return status.Error(codes.InvalidArgument, "no")
				}
			}
			return nil
		}
		ids := []string{"a", "b", "bad", "c", "d", "e", "f"}
		b.add(ids...)
		b.add("bad") // a copy that waits beside it
		want := map[string][]string{}
		for _, id := range ids {
			want[id] = []string{"counted"}
		}
		want["bad"] = []string{"refused", "refused"}
		b.settled(t, want)
		b.counts(t, 6)
	})
}

func TestARefusalOnceIsNoOrdersFault(t *testing.T) {
	inBubble(t, 1, Options{Linger: time.Millisecond}, func(t *testing.T, b *bench) {
		b.store.refuse = func(n int, _ *batch) error {
			if n == 1 {
				return status.Error(codes.InvalidArgument, "transaction is closed")
			}
			return nil
		}
		b.add("a", "b")
		b.settled(t, map[string][]string{"a": {"counted"}, "b": {"counted"}})
		if n := len(b.store.commits); n != 2 {
			t.Errorf("%d commits, want the same group twice", n)
		}
	})
}

// TestACountedOrderIsNeverRefused is about a commit whose answer is lost: the client repeats it,
// and calls the transaction, which is closed by then, an invalid argument. When that happens twice
// in a row it looks like a refusal for good, of an order that is counted.
func TestACountedOrderIsNeverRefused(t *testing.T) {
	for applied := 1; applied <= 2; applied++ {
		t.Run(fmt.Sprint("by commit ", applied), func(t *testing.T) {
			inBubble(t, 1, Options{}, func(t *testing.T, b *bench) {
				closed := status.Error(codes.InvalidArgument, "transaction is closed")
				b.store.refuse = func(n int, _ *batch) error {
					if n != applied {
						return closed
					}
					return nil
				}
				b.store.lose = func(int, *batch) error { return closed }
				b.store.unread = func(n int) error {
					if n <= applied {
						return status.Error(codes.Unavailable, "")
					}
					return nil
				}
				b.add("a")
				b.settled(t, map[string][]string{"a": {"counted"}})
				b.counts(t, 1)
			})
		})
	}
}

func TestTroubleWithTheWorldIsWaitedFor(t *testing.T) {
	for _, code := range []codes.Code{codes.PermissionDenied, codes.NotFound,
		codes.Unauthenticated, codes.FailedPrecondition} {
		t.Run(code.String(), func(t *testing.T) {
			inBubble(t, 1, Options{}, func(t *testing.T, b *bench) {
				healed := time.Now().Add(time.Hour)
				b.store.refuse = func(int, *batch) error {
					if time.Now().Before(healed) {
						return status.Error(code, "")
					}
					return nil
				}
				b.add("a")
				time.Sleep(30 * time.Minute)
				if status.Code(b.Ready()) != code {
					t.Errorf("Ready in the middle of it: %v, want %v", b.Ready(), code)
				}
				if err := b.Live(time.Now()); err != nil {
					t.Errorf("Live in the middle of it: %v, want nil", err)
				}
				b.settled(t, map[string][]string{"a": {"counted"}})
				if b.Ready() != nil {
					t.Errorf("Ready afterwards: %v, want nil", b.Ready())
				}
			})
		})
	}
}

func TestFrequentDuplicatesAreReadFirst(t *testing.T) {
	inBubble(t, 1, Options{}, func(t *testing.T, b *bench) {
		var ids []string
		for i := range 40 {
			ids = append(ids, fmt.Sprint("known-", i))
		}
		b.known(t, ids...)
		for _, id := range ids { // one group each
			b.add(id)
			b.wg.Wait()
		}
		if n := len(b.store.commits); n != 3 {
			t.Errorf("%d commits in 40 groups of duplicates, want 3 until it reads first", n)
		}
		blind := func(id string) bool {
			reads := b.store.reads
			b.add(id)
			b.wg.Wait()
			return b.store.reads == reads
		}
		for i := range 20 {
			if blind(fmt.Sprint("new-", i)) {
				if i < 3 || i > 10 {
					t.Errorf("went back to blind commits after %d new orders", i)
				}
				return
			}
		}
		t.Error("never went back to blind commits")
	})
}

func TestACommitThatHangsIsGivenUp(t *testing.T) {
	inBubble(t, 1, Options{}, func(t *testing.T, b *bench) {
		b.store.hang = 2
		start := time.Now()
		b.add("a")
		b.settled(t, map[string][]string{"a": {"counted"}})
		if took := time.Since(start); took < 2*commitTimeout || took > 2*commitTimeout+time.Second {
			t.Errorf("took %v, want two timeouts and a little", took)
		}
	})
}

// TestLive_ramp has more in hand than Firestore is to get within a minute.
func TestLive_ramp(t *testing.T) {
	ramp := NewRamp(time.Time{})
	inBubble(t, 1, Options{Ramp: ramp}, func(t *testing.T, b *bench) {
		for range 100 {
			ramp.limiter.ReserveN(time.Now(), MaxGroup)
		}
		b.add("a")
		time.Sleep(stuckAfter + 10*time.Second)
		if err := b.Live(time.Now()); err != nil {
			t.Errorf("Live while the ramp holds a group back: %v", err)
		}
		b.settled(t, map[string][]string{"a": {"counted"}})
	})
}

func TestLiveNoticesAStuckLane(t *testing.T) {
	inBubble(t, 1, Options{}, func(t *testing.T, b *bench) {
		stuck := make(chan struct{})
		b.store.refuse = func(int, *batch) error { <-stuck; return nil }
		if err := b.Live(time.Now()); err != nil {
			t.Errorf("Live when idle: %v", err)
		}
		b.add("a")
		time.Sleep(stuckAfter)
		synctest.Wait()
		if err := b.Live(time.Now()); err != nil {
			t.Errorf("Live after %v: %v", stuckAfter, err)
		}
		time.Sleep(time.Second)
		if b.Live(time.Now()) == nil {
			t.Error("Live: nil, want the stuck shard")
		}
		close(stuck)
		b.wg.Wait()
		if err := b.Live(time.Now()); err != nil {
			t.Errorf("Live afterwards: %v", err)
		}
	})
}
