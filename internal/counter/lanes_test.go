package counter

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// orderOf returns an order id whose event has the given shards among so many.
func orderOf(t *testing.T, shardAmong map[int]int) string {
	t.Helper()
search:
	for i := range 1_000_000 {
		id := fmt.Sprint("ord-", i)
		for n, shard := range shardAmong {
			if order(id).Event("orders").Shard(n) != shard {
				continue search
			}
		}
		return id
	}
	t.Fatalf("no order has the shards %v", shardAmong)
	return ""
}

func TestACopyJoinsItsEventInAnotherLane(t *testing.T) {
	for _, to := range []int{3, 17} { // down and up
		inBubble(t, 10, Options{}, func(t *testing.T, b *bench) {
			id := orderOf(t, map[int]int{10: 9, to: 1})
			b.add(id) // in flight in lane 9
			b.lanes.reshape(to)
			b.add(id, id) // lane 1 would have them
			b.settled(t, map[string][]string{id: {"counted", "duplicate", "duplicate"}})
			if n := len(b.store.commits); n != 1 || b.store.counts[9] != 1 {
				t.Errorf("%d commits, shards %v: want one, of shard 9", n, b.store.counts)
			}
			b.counts(t, 1)
		})
	}
}

// TestACopyInAnotherWorkersShape has nothing but the marker to go by.
func TestACopyInAnotherWorkersShape(t *testing.T) {
	inBubble(t, 10, Options{}, func(t *testing.T, b *bench) {
		id := orderOf(t, map[int]int{10: 9, 3: 1})
		ahead, err := start(b.store, "orders", Definition{Shards: 3, Location: time.UTC},
			Options{GroupMax: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer ahead.Close()
		b.add(id)
		time.Sleep(b.store.latency / 2) // so that the copy's commit comes second
		got, err := ahead.Add(t.Context(), order(id))
		if got != Duplicate || err != nil {
			t.Errorf("the copy was %v, %v, want a duplicate", got, err)
		}
		b.settled(t, map[string][]string{id: {"counted"}})
		b.counts(t, 1)
	})
}

func TestWhatIsPendingMovesToItsNewLane(t *testing.T) {
	inBubble(t, 1, Options{}, func(t *testing.T, b *bench) {
		var ids []string
		for shard := 1; shard < 4; shard++ {
			ids = append(ids, orderOf(t, map[int]int{4: shard}))
		}
		begin := time.Now()
		b.add("first") // in flight
		b.add(ids...)  // pending behind it
		b.lanes.reshape(4)
		b.wg.Wait()
		if took := time.Since(begin); took != b.store.latency {
			t.Errorf("took %v, want every lane at work at once", took)
		}
		want := map[int]int64{0: 1, 1: 1, 2: 1, 3: 1}
		if diff := cmp.Diff(want, b.store.counts); diff != "" {
			t.Errorf("shards (-want +got):\n%s", diff)
		}
		b.lanes.reshape(1)
		b.add("second", "third")
		b.wg.Wait()
		if b.store.counts[0] != 3 {
			t.Errorf("shards %v after shrinking to one, want two more in shard 0", b.store.counts)
		}
		b.counts(t, 6)
	})
}

func TestCloseEndsEveryLane(t *testing.T) {
	inBubble(t, 9, Options{}, func(t *testing.T, b *bench) {
		b.store.refuse = func(int, *batch) error { return status.Error(codes.Unavailable, "down") }
		old := orderOf(t, map[int]int{9: 7, 2: 0})
		b.add(old) // tried again and again in lane 7
		b.lanes.reshape(2)
		b.add("new")
		b.Close()
		b.lanes.reshape(3) // too late to matter
		b.add("late")
		b.settled(t, map[string][]string{old: {"closed"}, "new": {"closed"}, "late": {"closed"}})
	})
}

func TestFollow(t *testing.T) {
	inBubble(t, 10, Options{Follow: FollowEvery}, func(t *testing.T, b *bench) {
		after := func(d time.Duration, want int) {
			t.Helper()
			time.Sleep(d)
			synctest.Wait()
			if got := b.Definition().Shards; got != want {
				t.Errorf("%d shards after %v, want %d", got, d, want)
			}
		}
		b.store.define(10, nil)
		after(time.Minute, 10)
		b.store.define(3, nil)
		after(FollowEvery+followTimeout, 3)
		b.store.define(17, status.Error(codes.Unavailable, "down"))
		after(FollowEvery+followTimeout, 3)
		b.store.define(17, nil)
		after(30*time.Second-FollowEvery-followTimeout, 17) // one look failed, and still in time
		b.store.mu.Lock()
		b.store.hang = 1
		b.store.mu.Unlock()
		b.store.define(1, nil)
		after(30*time.Second, 1) // one look never answered
		if n := len(b.lanes.every()); n != 17 {
			t.Errorf("%d lanes, want those of all shapes", n)
		}
	})
}

// TestReshapeUnderLoad changes the shape again and again while copies of the same orders flow.
func TestReshapeUnderLoad(t *testing.T) {
	inBubble(t, 10, Options{GroupMax: 7}, func(t *testing.T, b *bench) {
		const orders = 400
		for i := range orders {
			id := fmt.Sprint("ord-", i)
			for range 1 + i%3 {
				b.mu.Lock()
				at := len(b.results[id])
				b.results[id] = append(b.results[id], "")
				b.mu.Unlock()
				b.wg.Go(func() {
					time.Sleep(time.Duration(i+at*3) * time.Millisecond)
					got, err := b.Add(t.Context(), order(id))
					b.mu.Lock()
					defer b.mu.Unlock()
					b.results[id][at] = result(got, err)
				})
			}
		}
		for _, n := range []int{3, 17, 1, 8, 2, 30, 10} {
			time.Sleep(50 * time.Millisecond)
			b.lanes.reshape(n)
		}
		b.wg.Wait()
		for id, got := range b.results {
			slices.Sort(got)
			if got[0] != "counted" || slices.Contains(got[1:], "counted") {
				t.Errorf("%s: %v, want it counted once", id, got)
			}
		}
		b.counts(t, orders)
	})
}
