package counter

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"pgregory.net/rapid"

	"github.com/atlasmart/ordertally/internal/evidence"
)

// modelWorkers is how many workers count into the model's one store.
const modelWorkers = 2

// modelFollow is how often a worker of the model looks for a new number of shards.
const modelFollow = 100 * time.Millisecond

// A delivery is one message of the model: an order at a worker, some time after the message before
// it. The same order again is a redelivery or a republished copy, which no identity tells apart.
// Without time between them two copies meet in one group, or in a group each of two workers; with
// some they meet in two.
type delivery struct {
	ID     int
	Worker int
	After  time.Duration
}

// A restart replaces a worker before the Before-th delivery.
type restart struct{ Before, Worker int }

// A scenario is a stream of deliveries, the fates of the first calls of each kind, restarts and
// new numbers of shards.
type scenario struct {
	Shards, GroupMax int
	Linger           time.Duration
	Deliveries       []delivery
	Commits, Reads   []fate
	Restarts         []restart
	Reshards         []reshard
}

// A reshard is a new number of shards, before one of the deliveries.
type reshard struct{ Before, Shards int }

// drawScenario draws up to size deliveries, with pauses of up to so many milliseconds.
func drawScenario(t *rapid.T, size, pause int) scenario {
	ids := rapid.IntRange(1, max(1, size/4)).Draw(t, "distinct")
	worker := rapid.IntRange(0, modelWorkers-1)
	return scenario{
		Shards:   rapid.IntRange(1, 4).Draw(t, "shards"),
		GroupMax: rapid.IntRange(1, 8).Draw(t, "groupMax"),
		Linger:   time.Duration(rapid.IntRange(0, 5).Draw(t, "linger")) * time.Millisecond,
		Deliveries: rapid.SliceOfN(rapid.Custom(func(t *rapid.T) delivery {
			return delivery{
				ID:     rapid.IntRange(0, ids-1).Draw(t, "id"),
				Worker: worker.Draw(t, "worker"),
				After:  time.Duration(rapid.IntRange(0, pause).Draw(t, "after")) * time.Millisecond,
			}
		}), 1, size).Draw(t, "deliveries"),
		Commits: rapid.SliceOfN(drawFate(badCodes), 0, size/3).Draw(t, "commits"),
		Reads:   rapid.SliceOfN(drawFate(badCodes), 0, size/6).Draw(t, "reads"),
		Restarts: rapid.SliceOfN(rapid.Custom(func(t *rapid.T) restart {
			return restart{rapid.IntRange(1, size).Draw(t, "before"), worker.Draw(t, "worker")}
		}), 0, 3).Draw(t, "restarts"),
		Reshards: rapid.SliceOfN(rapid.Custom(func(t *rapid.T) reshard {
			return reshard{rapid.IntRange(1, size).Draw(t, "before"), rapid.IntRange(1, 9).Draw(t, "to")}
		}), 0, 4).Draw(t, "reshards"),
	}
}

// days is the whole truth about an exact counter: the distinct orders of each day.
func (s scenario) days() map[string]int64 {
	seen, days := map[int]bool{}, map[string]int64{}
	for _, d := range s.Deliveries {
		if !seen[d.ID] {
			seen[d.ID] = true
			o := modelOrder(d.ID)
			days[Day(o.AcceptedAt, time.UTC)]++
		}
	}
	return days
}

// modelOrder is the order of that number: three days' orders.
func modelOrder(id int) Order {
	o := order(fmt.Sprint("ord-", id))
	o.AcceptedAt = noon.AddDate(0, 0, id%3)
	return o
}

// TestModel holds the counter against the model. Whatever is delivered twice, lost, refused for a
// while, restarted or resharded, each day's orders are counted and marked once, and no order is called
// counted twice. A seed that fails is shrunk, and rapid says how it runs again.
func TestModel(t *testing.T) {
	checks := atLeast(t, "rapid.checks", 3000)
	var faults atomic.Int64
	rapid.Check(t, func(rt *rapid.T) {
		s := drawScenario(rt, 120, 30)
		var problem error
		synctest.Test(t, func(t *testing.T) { problem = s.playOnFake(&faults) })
		if problem != nil {
			rt.Fatal(problem)
		}
	})
	recordModel(t, checks, "a store in memory and simulated time", int(faults.Load()))
}

// atLeast raises rapid's number of checks, unless the command line says it, and returns how many
// there will be: with -short rapid makes a fifth of them.
func atLeast(t *testing.T, name string, n int) int {
	t.Helper()
	f := flag.Lookup(name)
	given := f.Value.(flag.Getter).Get().(int)
	flag.Visit(func(set *flag.Flag) {
		if set == f {
			n = given
		}
	})
	if err := f.Value.Set(fmt.Sprint(n)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Value.Set(fmt.Sprint(given)) })
	if testing.Short() {
		n /= 5
	}
	return n
}

func (s scenario) playOnFake(faults *atomic.Int64) error {
	store := newFakeStore()
	store.live = s.Shards
	store.latency = 7 * time.Millisecond
	fated := &fatedStore{store: store, commits: s.Commits, reads: s.Reads}
	if err := s.play(fated, "orders", world{synctest.Wait, func(n int) { store.define(n, nil) }}); err != nil {
		return err
	}
	faults.Add(int64(fated.hits))
	days := map[string]int64{}
	for _, counts := range store.days {
		for day, n := range counts {
			days[day] += n
		}
	}
	return s.verify(days, store.docs)
}

// verify compares what was counted, by day, and the markers with the truth.
func (s scenario) verify(days map[string]int64, markers map[EventID]Marker) error {
	marked := map[string]int64{}
	for _, m := range markers {
		marked[m.Day]++
	}
	if want := s.days(); !maps.Equal(days, want) || !maps.Equal(marked, want) {
		return fmt.Errorf("the distinct orders of each day are %v, the shards say %v, the markers %v",
			want, days, marked)
	}
	return nil
}

// A world is what a scenario does beside delivering.
type world struct {
	settle  func()           // after each delivery, when a bubble has to come to rest
	reshard func(shards int) // changes the document
}

// play delivers the scenario, redelivering what was not settled, as Pub/Sub does.
func (s scenario) play(store store, name string, w world) error {
	var workers [modelWorkers]atomic.Pointer[Counter]
	for i := range workers {
		workers[i].Store(s.start(store, name))
	}
	tally := tally{counted: map[int]int{}}
	var wg sync.WaitGroup
	for i, d := range s.Deliveries {
		time.Sleep(d.After)
		for _, r := range s.Restarts {
			if r.Before == i {
				workers[r.Worker].Load().Close()
				workers[r.Worker].Store(s.start(store, name))
			}
		}
		for _, r := range s.Reshards {
			if r.Before == i {
				w.reshard(r.Shards)
			}
		}
		wg.Go(func() { tally.deliver(&workers[d.Worker], d.ID) })
		w.settle()
	}
	wg.Wait()
	for i := range workers {
		workers[i].Load().Close()
	}
	return tally.err
}

func (s scenario) start(store store, name string) *Counter {
	c, err := start(store, name, Definition{Shards: s.Shards, Location: time.UTC},
		Options{GroupMax: s.GroupMax, Linger: s.Linger, Follow: modelFollow})
	if err != nil {
		panic(err) // the metrics of no meter: cannot be
	}
	return c
}

// A tally is how often each order was called counted.
type tally struct {
	mu      sync.Mutex
	counted map[int]int
	err     error
}

// deliver adds the order to whichever counter the worker runs, until it is settled.
func (a *tally) deliver(worker *atomic.Pointer[Counter], id int) {
	for {
		outcome, err := worker.Load().Add(context.Background(), modelOrder(id))
		if errors.Is(err, ErrClosed) {
			time.Sleep(time.Millisecond) // the redelivery
			continue
		}
		a.note(id, outcome, err)
		return
	}
}

func (a *tally) note(id int, outcome Outcome, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if outcome == Counted {
		a.counted[id]++
	}
	if err != nil {
		a.err = errors.Join(a.err, fmt.Errorf("adding ord-%d: %w", id, err))
	}
	if a.counted[id] > 1 {
		a.err = errors.Join(a.err, fmt.Errorf("ord-%d was called counted twice", id))
	}
}

func recordModel(t *testing.T, seeds int, on string, faults int) {
	t.Helper()
	if t.Failed() {
		return
	}
	t.Logf("%d seeds, %d faults", seeds, faults)
	evidence.Record(evidence.Row{
		Fault: "random orders, duplicates, lost answers, refused calls, restarts of two workers, new numbers of shards",
		How:   fmt.Sprintf("a seed each, on %s", on), Times: faults,
		Checked: "each day's count and markers equal a model's, no order called counted twice",
		Result:  fmt.Sprintf("%d of %d seeds equal", seeds, seeds),
	})
}

var badCodes = []codes.Code{codes.OK, codes.OK, codes.OK, codes.Unavailable, codes.Aborted,
	codes.DeadlineExceeded, codes.ResourceExhausted, codes.Internal, codes.Unknown,
	codes.PermissionDenied}
