package counter

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"cloud.google.com/go/firestore"
)

// settleTime is how long a read time must lie in the past before it is read at. On the emulator
// a read at a younger time is torn: up to a third of them saw half of a commit, none at 100 ms.
// Production promises a whole snapshot at any time, and loses nothing by the wait.
const settleTime = 100 * time.Millisecond

// A Shard is one shard document.
type Shard struct {
	Number int
	Count  int64
	Days   map[string]int64 // by calendar day
	Folded map[int]int64    // the part of Count whose markers name another shard, by that shard
}

// A Reading is a counter's exact state at one server time.
type Reading struct {
	Counter    string
	Definition Definition
	Rollup     Rollup    // the last rollup, as the counter document held it
	ReadTime   time.Time // server time, whole microseconds
	Shards     []Shard   // every shard document, by number, also those beyond Definition.Shards

	updated time.Time      // of the counter document: the precondition of the next rollup
	data    map[string]any // the counter document
}

// Read reads the counter exactly: every shard at one read time, which the server gave. It takes
// no locks, so it never makes a writer wait, and costs a read for each shard and one more.
// An unknown counter gives ErrNotFound; a shard that is not one gives an error with its path.
func Read(ctx context.Context, client *firestore.Client, name string) (*Reading, error) {
	doc, err := readCounter(ctx, client, name)
	if err != nil {
		return nil, err
	}
	if err := sleep(ctx, settleTime); err != nil {
		return nil, fmt.Errorf("reading counter %q: %w", name, err)
	}
	var snaps []*firestore.DocumentSnapshot
	err = client.RunTransaction(ctx, func(_ context.Context, tx *firestore.Transaction) error {
		var err error
		snaps, err = tx.Documents(shardsOf(client, name)).GetAll()
		return err
	}, firestore.TransactionReadTime(doc.readTime), firestore.ReadOnly)
	if err != nil {
		return nil, fmt.Errorf("reading the shards of %q: %w", name, err)
	}
	r := &Reading{Counter: name, Definition: doc.def, Rollup: doc.rollup,
		ReadTime: doc.readTime, updated: doc.updated, data: doc.data}
	for _, s := range snaps {
		shard, err := parseShard(name, s.Ref.ID, s.Data())
		if err != nil {
			return nil, err
		}
		r.Shards = append(r.Shards, shard)
	}
	slices.SortFunc(r.Shards, func(a, b Shard) int { return a.Number - b.Number })
	return r, r.check()
}

func shardPath(counter, id string) string {
	return countersCollection + "/" + counter + "/" + shardsCollection + "/" + id
}

func parseShard(counter, id string, data map[string]any) (Shard, error) {
	f := fields{path: shardPath(counter, id), data: data}
	n, err := strconv.Atoi(id)
	if err != nil || n < 0 || strconv.Itoa(n) != id {
		f.fail("not a shard: its name is not a number")
	}
	s := Shard{Number: n, Count: f.integer("count"), Days: f.integers("days"),
		Folded: f.byShard("folded")}
	if s.Count < 0 || s.Count == math.MaxInt64 {
		// An increment stops at the end of int64 without an error: the true count is lost there.
		f.fail("count is %d, want 0 to %d", s.Count, int64(math.MaxInt64-1))
	}
	for day, n := range s.Days {
		if n < 0 || n == math.MaxInt64 {
			f.fail("days.%s is %d, want 0 to %d", day, n, int64(math.MaxInt64-1))
		}
	}
	return s, f.err
}

// check refuses sums that int64 cannot hold.
func (r *Reading) check() error {
	var total, days uint64
	for _, s := range r.Shards {
		total += uint64(s.Count)
		for _, n := range s.Days {
			days += uint64(n)
		}
		if total > math.MaxInt64 || days > math.MaxInt64 {
			return fmt.Errorf("summing the shards of %q: the total is beyond int64", r.Counter)
		}
	}
	return nil
}

// checkDays refuses a shard whose days are not its count. Every commit adds to both, so it was
// changed by hand.
func (r *Reading) checkDays() error {
	for _, s := range r.Shards {
		if days := sum(s.Days); days != s.Count {
			return fmt.Errorf("%s: count is %d, and days sum to %d",
				shardPath(r.Counter, strconv.Itoa(s.Number)), s.Count, days)
		}
	}
	return nil
}

// Total is the number of orders counted up to ReadTime.
func (r *Reading) Total() int64 {
	var total int64
	for _, s := range r.Shards {
		total += s.Count
	}
	return total
}

// Days is the number of orders of each calendar day, counted up to ReadTime.
func (r *Reading) Days() map[string]int64 {
	days := map[string]int64{}
	for _, s := range r.Shards {
		for day, n := range s.Days {
			days[day] += n
		}
	}
	return days
}

// shardNumbers is the shards that may have markers: those that exist, also beyond the definition,
// those that may come to exist, and those that were folded into others.
func (r *Reading) shardNumbers() []int {
	numbers := map[int]bool{}
	for i := range r.Definition.Shards {
		numbers[i] = true
	}
	for _, s := range r.Shards {
		numbers[s.Number] = true
		for origin := range s.Folded {
			numbers[origin] = true
		}
	}
	return slices.Sorted(maps.Keys(numbers))
}

// sleep waits for d, or returns early with ctx's error.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 || ctx.Err() != nil {
		return ctx.Err() // a select would choose by chance
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
