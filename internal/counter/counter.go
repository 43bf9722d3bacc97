package counter

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"cloud.google.com/go/firestore"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/trace"
	nooptrace "go.opentelemetry.io/otel/trace/noop"
	"go.uber.org/zap"
)

// An Outcome is how an order was settled.
type Outcome int

const (
	// Counted means that this call's commit counted the order.
	Counted Outcome = iota + 1
	// Duplicate means that the order was counted before.
	Duplicate
)

func (o Outcome) String() string {
	switch o {
	case Counted:
		return "counted"
	case Duplicate:
		return "duplicate"
	}
	return "unsettled"
}

// Options are what a Counter needs beside its definition.
type Options struct {
	GroupMax  int           // distinct orders in one commit, 1 to MaxGroup
	Linger    time.Duration // how long the first order of a group waits for company; 0: not
	MarkerTTL time.Duration // a marker's life after the order's acceptance or publication
	Follow    time.Duration // how often to look for a new number of shards; 0: never
	Ramp      *Ramp         // limits the orders of a collection that is new; nil: no limit
	Log       *zap.Logger   // nil: silent
	Meter     metric.Meter  // nil: none
	Tracer    trace.Tracer  // nil: none
}

// A Counter counts orders into the shards of one counter. Its methods may be called at once.
type Counter struct {
	name   string
	def    Definition // Shards is as it was at the start
	lanes  *lanes
	memory *memory
	health *health
	rates  *groupRates
	log    *zap.Logger

	stop context.CancelFunc
	done sync.WaitGroup
}

// New starts the lanes of the named counter, which def describes. Close stops them.
func New(client *firestore.Client, name string, def Definition, opts Options) (*Counter, error) {
	if opts.GroupMax < 1 || opts.GroupMax > MaxGroup {
		return nil, fmt.Errorf("a group of at most %d orders: want 1 to %d",
			opts.GroupMax, MaxGroup)
	}
	return start(&fireStore{client: client, name: name, ttl: opts.MarkerTTL}, name, def, opts)
}

func start(s store, name string, def Definition, opts Options) (*Counter, error) {
	if opts.Log == nil {
		opts.Log = zap.NewNop()
	}
	if opts.Meter == nil {
		opts.Meter = noop.Meter{}
	}
	if opts.Tracer == nil {
		opts.Tracer = nooptrace.Tracer{}
	}
	m, err := newMetrics(opts.Meter)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	c := &Counter{name: name, def: def, memory: newMemory(memoryCap), health: &health{},
		rates: &groupRates{}, log: opts.Log, stop: stop}
	nonce, dups := nonces(), &duplicates{}
	c.lanes = newLanes(func(shard, live int) *lane {
		l := newLane(shard, opts.GroupMax, opts.Linger, &committer{
			store: s, nonce: nonce, memory: c.memory, health: c.health,
			dups: dups, metrics: m.lane(name, shard, live), ramp: opts.Ramp, log: opts.Log,
			progress: progress{rates: c.rates}})
		l.tracer = newTracer(opts.Tracer, name, shard)
		c.done.Go(func() { l.run(ctx, c.lanes.forget) })
		return l
	})
	c.lanes.reshape(def.Shards)
	if opts.Follow > 0 {
		c.done.Go(func() { c.follow(ctx, s, opts.Follow) })
	}
	return c, nil
}

// Add counts the order unless it is counted already, and returns when either is sure. It returns
// a *RefusedError for an order that can never be counted, ErrClosed when the counter closes
// first, and ctx's error when ctx ends first; after the last two the order may be counted all
// the same, and asking again is safe.
func (c *Counter) Add(ctx context.Context, o Order) (Outcome, error) {
	id := o.Event(c.name)
	if c.memory.has(id) {
		return Duplicate, nil
	}
	e := &entry{id: id, order: o, day: Day(o.AcceptedAt, c.def.Location),
		done: make(chan struct{})}
	e, first := c.lanes.join(ctx, e)
	select {
	case <-e.done:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	if e.err != nil {
		return 0, e.err
	}
	if !first {
		return Duplicate, nil
	}
	return e.outcome, nil
}

// Definition returns the definition that the counter works by.
func (c *Counter) Definition() Definition {
	def := c.def
	def.Shards = c.lanes.shards()
	return def
}

// Close ends the commits in flight, makes every waiting Add return ErrClosed, and waits for the
// lanes. Call it when no Add is waiting, or when none may wait any longer.
func (c *Counter) Close() {
	c.stop()
	c.done.Wait()
}

// nonces returns a source of names for group commits, unique among all workers.
func nonces() func() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails, by its documentation
	worker := hex.EncodeToString(b[:])
	var n atomic.Uint64
	return func() string { return worker + "-" + strconv.FormatUint(n.Add(1), 10) }
}
