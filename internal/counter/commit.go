package counter

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"
	"go.uber.org/zap"

	"github.com/atlasmart/ordertally/internal/telemetry"
)

// commitTimeout bounds one attempt. The client retries some codes by itself until the deadline,
// among them the one that the emulator answers to a request above 4 MiB.
const commitTimeout = 10 * time.Second

// A store is what the lanes need of Firestore. The laws, which TestStore checks for every store:
//
// commit creates a marker for each entry and adds their number to the shard, in one step: all or
// nothing. It fails with AlreadyExists, and writes nothing, where any marker is there. An error
// other than that does not tell whether it was applied, and it may still be applied after it
// returned. The entries are distinct.
//
// markers returns those of the events whose marker is there, and sees each commit that succeeded
// before the call.
//
// numShards returns how many shards the counter has now.
type store interface {
	commit(ctx context.Context, b *batch) error
	markers(ctx context.Context, ids []EventID) (map[EventID]Marker, error)
	numShards(ctx context.Context) (int, error)
}

// A committer takes the groups of one lane through the store until each event is settled.
type committer struct {
	store   store
	nonce   func() string // a new name for each group commit
	memory  *memory
	metrics *laneMetrics
	health  *health
	log     *zap.Logger

	dups *duplicates // shared by all lanes
	ramp *Ramp       // shared by all lanes; nil: none

	progress progress

	pace pace
	beat atomic.Int64 // UnixNano of the last attempt's end, while a group is tried; else 0
}

// A group is the part of a lane's group that is not settled yet.
type group struct {
	batch
	read     bool  // look for known markers before the next commit
	reads    int   // how often that was done
	known    int   // orders that were there before, and not by this group
	refusals int   // in a row
	refusal  error // for good; of a group of one order
	retry    backoff
}

// commit settles every entry: counted, duplicate, refused, or ErrClosed when ctx ends. It tries
// for as long as it takes, since the markers make every repetition safe.
func (c *committer) commit(ctx context.Context, shard int, entries []*entry) {
	c.metrics.group(ctx, len(entries))
	c.progress.begin(len(entries))
	defer func() { c.progress.end(time.Now(), len(entries)) }()
	c.beat.Store(time.Now().UnixNano())
	defer c.beat.Store(0)
	g := &group{
		batch: batch{shard: shard, commit: c.nonce(), entries: entries},
		read:  c.dups.frequent(),
	}
	c.settle(ctx, g)
	c.dups.observe(g.known)
}

func (c *committer) settle(ctx context.Context, g *group) {
	for len(g.entries) > 0 {
		if c.await(ctx, g) != nil {
			g.settleAll(0, ErrClosed)
			return
		}
		c.beat.Store(time.Now().UnixNano())
		err := c.attempt(ctx, g)
		c.beat.Store(time.Now().UnixNano())
		if err == nil || c.consider(ctx, g, err) {
			continue
		}
		if g.refusals == 2 && len(g.entries) > 1 {
			c.split(ctx, g)
			return
		}
		if g.refusals == 2 {
			g.refusal = &RefusedError{Event: g.entries[0].id, cause: err}
			continue // but its marker is looked for once more
		}
		if g.retry.wait(ctx) != nil {
			g.settleAll(0, ErrClosed)
		}
	}
}

// await waits until Firestore may be asked for the group's commit: under the ramp for as long as
// all that is in flight takes, which is no sign of a process that is stuck.
func (c *committer) await(ctx context.Context, g *group) error {
	c.beat.Store(0)
	if err := c.pace.wait(ctx); err != nil {
		return err
	}
	return c.ramp.wait(ctx, len(g.entries))
}

// attempt takes the group one step further: it settles what is known, and commits the rest.
func (c *committer) attempt(ctx context.Context, g *group) error {
	ctx, cancel := context.WithTimeout(ctx, commitTimeout)
	defer cancel()
	if g.read {
		known, err := c.store.markers(ctx, g.ids())
		if err != nil {
			return err
		}
		c.drop(g, known)
		if len(g.entries) == 0 {
			return nil
		}
	}
	if g.refusal != nil {
		g.settleAll(0, g.refusal)
		return nil
	}
	start := time.Now()
	err := c.store.commit(ctx, &g.batch)
	c.metrics.commit(ctx, time.Since(start), err)
	if err != nil {
		return err
	}
	c.pace.succeeded()
	c.progress.paced(c.pace.rate)
	c.progress.committed.Store(time.Now().UnixNano())
	c.health.recovered()
	c.memory.add(g.ids()...)
	g.settleAll(Counted, nil)
	return nil
}

// consider notes what an error means for the group, and whether to go on without a pause.
func (c *committer) consider(ctx context.Context, g *group, err error) (again bool) {
	v := judge(err)
	if v == exists {
		// Once the markers were read, the rest can exist only by a race: let it pass.
		g.read, g.refusals = true, 0
		return g.reads == 0
	}
	if v == refused {
		// The client repeats a commit whose answer was lost, and calls the transaction that it
		// closed an invalid argument: the markers tell.
		g.read = true
		g.refusals++
	} else {
		g.refusals = 0
	}
	switch v {
	case misplaced:
		c.health.troubled(err)
	case contended:
		c.pace.contended()
		c.progress.paced(c.pace.rate)
	}
	trace.SpanFromContext(ctx).RecordError(err)
	if ctx.Err() == nil {
		c.log.Warn("commit attempt went wrong, and is repeated", zap.Error(err),
			zap.Int("shard", g.shard), zap.Int("orders", len(g.entries)), telemetry.Span(ctx))
	}
	return false
}

// drop settles the events whose markers are there. One that carries this group's own nonce was
// written by an attempt whose answer was lost: it is counted, and not a redelivery.
func (c *committer) drop(g *group, known map[EventID]Marker) {
	g.read = false
	g.reads++
	rest := make([]*entry, 0, len(g.entries))
	for _, e := range g.entries {
		m, ok := known[e.id]
		if !ok {
			rest = append(rest, e)
			continue
		}
		c.memory.add(e.id)
		if m.Commit == g.commit {
			e.settle(Counted, nil)
		} else {
			g.known++
			e.settle(Duplicate, nil)
		}
	}
	g.entries = rest
}

// split goes on with the halves of a group that was refused twice, until the bad order stands
// alone. The halves keep the group's nonce, so that each still knows what the whole has written.
func (c *committer) split(ctx context.Context, g *group) {
	mid := len(g.entries) / 2
	for _, half := range [][]*entry{g.entries[:mid], g.entries[mid:]} {
		part := &group{batch: batch{shard: g.shard, commit: g.commit, entries: half}}
		c.settle(ctx, part)
		g.known += part.known
	}
	g.entries = nil
}

func (g *group) ids() []EventID {
	ids := make([]EventID, len(g.entries))
	for i, e := range g.entries {
		ids[i] = e.id
	}
	return ids
}

func (g *group) settleAll(o Outcome, err error) {
	for _, e := range g.entries {
		e.settle(o, err)
	}
	g.entries = nil
}

// A RefusedError means that Firestore will never take this order.
type RefusedError struct {
	Event EventID
	cause error
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("counting event %s: refused for good: %v", e.Event, e.cause)
}

// Unwrap returns what Firestore answered.
func (e *RefusedError) Unwrap() error { return e.cause }
