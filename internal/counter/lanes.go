package counter

import (
	"context"
	"slices"
	"sync"

	"go.opentelemetry.io/otel/trace"
)

// lanes are the lanes of one counter, and what is on its way through them. How many take orders
// may change while orders flow. A lane that takes none any more ends the group that it has in
// work and then waits: it costs a goroutine, and is there when the counter grows again.
type lanes struct {
	open func(shard, live int) *lane // starts one

	mu   sync.Mutex
	live int     // the counter's shards: an event goes to the lane of its hash modulo live
	all  []*lane // by shard; at least live
	// byID has what is pending or in flight. A copy joins its event here, in whichever lane that
	// is: after a change of shape an event may be in flight in a lane that is no longer its own.
	byID map[EventID]*entry
}

func newLanes(open func(shard, live int) *lane) *lanes {
	return &lanes{open: open, byID: map[EventID]*entry{}}
}

// reshape makes orders go to the first live lanes. What is pending moves to its new lane, and a
// group in flight ends where it is: its attempts may still be applied.
func (ls *lanes) reshape(live int) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ls.live = live
	for i := len(ls.all); i < live; i++ {
		ls.all = append(ls.all, ls.open(i, live))
	}
	var pending []*entry
	for _, l := range ls.all {
		pending = append(pending, l.empty()...)
	}
	for _, e := range pending {
		ls.of(e).push(e)
	}
}

// of returns the lane of the event. The caller holds mu.
func (ls *lanes) of(e *entry) *lane { return ls.all[e.id.Shard(ls.live)] }

// join adds the event to the next group of its lane, or to its copy that is already on the way:
// first tells which. It never blocks. The span in ctx, if any, is the message's.
func (ls *lanes) join(ctx context.Context, e *entry) (joined *entry, first bool) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if twin, ok := ls.byID[e.id]; ok {
		twin.link(ctx)
		return twin, false
	}
	e.link(ctx)
	ls.byID[e.id] = e
	ls.of(e).push(e)
	return e, true
}

// forget lets go of a group whose events are settled: a later copy is a new event, and meets the
// memory or the marker. The group's span gets the messages that were settled with it.
func (ls *lanes) forget(group []*entry, span trace.Span) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	for _, e := range group {
		delete(ls.byID, e.id)
	}
	linkTo(span, group)
}

// shards is how many lanes take orders.
func (ls *lanes) shards() int {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	return ls.live
}

// every returns all lanes, by shard.
func (ls *lanes) every() []*lane {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	return slices.Clone(ls.all)
}
