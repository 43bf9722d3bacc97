package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/firestore"

	"github.com/atlasmart/ordertally/internal/counter"
	"github.com/atlasmart/ordertally/internal/emulator/emulatortest"
)

const (
	counterPath = "counters/orders-today"
	shard1Path  = counterPath + "/shards/1"
	neighbours  = 12 // orders that were counted before, in three shards
)

// A neighbour is a document that somebody else wrote into.
type neighbour struct {
	name  string
	path  string         // "": the marker of an order of shard 1
	merge map[string]any // fields to change
	set   map[string]any // what the document becomes; both nil: it is deleted

	read  string // what show, the rollup and the audit answer; "": they work
	check string // what check answers; "": as fresh as it is
	start string // what a worker answers at its start, when that is not what read says
}

func badNeighbours() []neighbour {
	day := counter.Day(time.Now(), time.UTC)
	count := func(what string) string { return shard1Path + ": count is " + what }
	shard := func(name string, merge map[string]any, read string) neighbour {
		return neighbour{name: "shard: " + name, path: shard1Path, merge: merge, read: read}
	}
	definition := func(name string, numShards any, read string) neighbour {
		read = counterPath + ": numShards is " + read
		return neighbour{name: "counter: numShards " + name, path: counterPath,
			merge: map[string]any{"numShards": numShards}, read: read, check: read}
	}
	marker := func(name string, merge, set map[string]any) neighbour {
		return neighbour{name: "marker: " + name, merge: merge, set: set}
	}
	return []neighbour{
		shard("count missing", map[string]any{"count": firestore.Delete},
			count("missing, want an integer")),
		shard("count null", map[string]any{"count": nil}, count("null, want an integer")),
		shard("count a string", map[string]any{"count": "4"}, count("a string, want an integer")),
		shard("count a double", map[string]any{"count": 4.5}, count("a double, want an integer")),
		shard("count negative", map[string]any{"count": -1000},
			count("-1000, want 0 to 9223372036854775806")),
		shard("count at the end of int64", map[string]any{"count": int64(math.MaxInt64)},
			count("9223372036854775807, want 0 to 9223372036854775806")),
		{name: "shard: count near the end of int64", path: shard1Path,
			merge: map[string]any{"count": int64(math.MaxInt64 - 1)},
			read:  `summing the shards of "orders-today": the total is beyond int64`,
			start: shard1Path + ": holds a count of 9223372036854775806, " +
				"and a worker starts from at most 4611686018427387904"},
		shard("days no map", map[string]any{"days": "4"},
			shard1Path+": days is a string, want a map of integers"),
		shard("a day a string", map[string]any{"days": map[string]any{day: "4"}},
			shard1Path+": days."+day+" is a string, want an integer"),
		shard("days missing", map[string]any{"days": firestore.Delete}, ""),
		{name: "shard: deleted", path: shard1Path},
		definition("missing", firestore.Delete, "missing, want an integer"),
		definition("0", 0, "0, want 1 to 1000"),
		definition("100,000", 100_000, "100000, want 1 to 1000"),
		definition("a string", "3", "a string, want an integer"),
		marker("without fields", nil, map[string]any{}),
		marker("of wrong types", map[string]any{"shard": "1", "day": 20261130, "commit": 7,
			"counter": []string{"orders-today"}}, nil),
		marker("of a shard that is a double", map[string]any{"shard": 1.5}, nil),
		marker("of a day that is a time", map[string]any{"day": time.Now()}, nil),
		marker("of another counter", map[string]any{"counter": "orders"}, nil),
		marker("deleted", nil, nil),
	}
}

// TestBadNeighbours spoils a document of a counter that works, and lets everything that touches it
// do so: the commands, a worker's start, and a worker that runs already. Each refuses the document
// by its name, or the audit reports it: before that worker's commits, and after.
func TestBadNeighbours(t *testing.T) {
	for _, tt := range badNeighbours() {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			n := newNeighbourhood(t)
			n.want(t, "the rollup before", "")
			n.spoil(t, tt)
			n.want(t, "check", tt.check, "check", "-max-age", "5m")
			n.want(t, "show", tt.read, "show")
			n.want(t, "the rollup", tt.read)
			n.wantReported(t, "the audit", tt.read)
			if tt.start == "" {
				tt.start = tt.read
			}
			if err := n.start(t); text(err) != tt.start {
				t.Errorf("a worker starts with %q, want %q", text(err), tt.start)
			}
			n.work(t, tt)
			n.wantReported(t, "the audit after a worker that ran already", "")
		})
	}
}

// A neighbourhood is a counter of its own, with a worker that runs.
type neighbourhood struct {
	client *firestore.Client
	def    counter.Definition
	worker *counter.Counter
}

func newNeighbourhood(t *testing.T) *neighbourhood {
	t.Helper()
	n := &neighbourhood{client: emulatortest.New(t).Firestore()}
	var err error
	if n.def, _, err = counter.Define(t.Context(), n.client, "orders-today",
		counter.Definition{Shards: 3, Location: time.UTC}); err != nil {
		t.Fatal(err)
	}
	first := n.newWorker(t)
	for id, got := range n.add(t, first, 0, neighbours) {
		if got != counter.Counted {
			t.Errorf("%s at first: %v", id, got)
		}
	}
	n.worker = n.newWorker(t) // it remembers nothing, and meets the markers
	return n
}

func (n *neighbourhood) newWorker(t *testing.T) *counter.Counter {
	t.Helper()
	c, err := counter.New(n.client, "orders-today", n.def,
		counter.Options{GroupMax: 100, MarkerTTL: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func neighbourOrder(i int) counter.Order {
	return counter.Order{ID: fmt.Sprint("ord-", i), AcceptedAt: time.Now()}
}

// add adds orders from..to-1 at once, and returns their outcomes by id.
func (n *neighbourhood) add(
	t *testing.T, c *counter.Counter, from, to int,
) map[string]counter.Outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var mu sync.Mutex
	var wg sync.WaitGroup
	outcomes := map[string]counter.Outcome{}
	for i := from; i < to; i++ {
		wg.Go(func() {
			o := neighbourOrder(i)
			got, err := c.Add(ctx, o)
			if err != nil {
				t.Errorf("adding %s: %v", o.ID, err)
			}
			mu.Lock()
			defer mu.Unlock()
			outcomes[o.ID] = got
		})
	}
	wg.Wait()
	return outcomes
}

// victim is an order of shard 1.
func victim(t *testing.T) (id string, marker string) {
	t.Helper()
	for i := range neighbours {
		o := neighbourOrder(i)
		if e := o.Event("orders-today"); e.Shard(3) == 1 {
			return o.ID, "counterEvents/" + e.String()
		}
	}
	t.Fatal("no order is in shard 1")
	return "", ""
}

func (n *neighbourhood) spoil(t *testing.T, tt neighbour) {
	t.Helper()
	_, marker := victim(t)
	doc := n.client.Doc(cmp.Or(tt.path, marker))
	var err error
	switch {
	case tt.merge != nil:
		var updates []firestore.Update
		for field, v := range tt.merge {
			updates = append(updates, firestore.Update{Path: field, Value: v})
		}
		_, err = doc.Update(t.Context(), updates)
	case tt.set != nil:
		_, err = doc.Set(t.Context(), tt.set)
	default:
		_, err = doc.Delete(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// invoke carries out one command of the program.
func (n *neighbourhood) invoke(t *testing.T, args ...string) error {
	t.Helper()
	var out bytes.Buffer
	cmd, err := parse(args, &out)
	if err != nil {
		t.Fatal(err)
	}
	return cmd(t.Context(), &program{client: n.client, cfg: &config{Counter: "orders-today"},
		deps: deps{stdout: &out, stderr: &out}})
}

func (n *neighbourhood) want(t *testing.T, what, want string, args ...string) {
	t.Helper()
	if err := n.invoke(t, args...); text(err) != want {
		t.Errorf("%s: %q, want %q", what, text(err), want)
	}
}

// wantReported wants the audit to fail with an error that names a document, or with a drift.
func (n *neighbourhood) wantReported(t *testing.T, what, want string) {
	t.Helper()
	err := n.invoke(t, "audit")
	got := text(err)
	reported := strings.HasPrefix(got, "counters/") || strings.Contains(got, "drifted") ||
		strings.Contains(got, "beyond int64")
	if !reported || want != "" && got != want {
		t.Errorf("%s: %q, want it reported (%q)", what, got, want)
	}
}

// start is what a worker does before its first message.
func (n *neighbourhood) start(t *testing.T) error {
	def, _, err := counter.Define(t.Context(), n.client, "orders-today", n.def)
	if err != nil {
		return err
	}
	return counter.CheckShards(t.Context(), n.client, "orders-today", def)
}

// work sends every known order again, and new ones, through a worker that runs already. It works
// by markers being there, whatever is in them, and looks at no shard.
func (n *neighbourhood) work(t *testing.T, tt neighbour) {
	t.Helper()
	id, _ := victim(t)
	gone := tt.path == "" && tt.merge == nil && tt.set == nil
	for got, outcome := range n.add(t, n.worker, 0, neighbours) {
		want := counter.Duplicate
		if got == id && gone {
			want = counter.Counted // without its marker it is a new order
		}
		if outcome != want {
			t.Errorf("a copy of %s: %v, want %v", got, outcome, want)
		}
	}
	for got, outcome := range n.add(t, n.worker, neighbours, 2*neighbours) {
		if outcome != counter.Counted {
			t.Errorf("the new order %s: %v", got, outcome)
		}
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
