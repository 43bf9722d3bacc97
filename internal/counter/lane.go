package counter

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"
)

// ErrClosed means that the counter was closed before the order's commit was known: the order may
// or may not be counted, and its message must come again.
var ErrClosed = errors.New("the counter is closed")

// An entry is one event on its way through a lane. Its result is set before done is closed.
type entry struct {
	id    EventID
	order Order
	day   string

	messages []trace.SpanContext // of the copies, where they are traced; guarded by lanes.mu

	done    chan struct{}
	outcome Outcome
	err     error
}

func (e *entry) settle(o Outcome, err error) {
	e.outcome, e.err = o, err
	close(e.done)
}

// A lane commits the orders of one shard in groups, one group at a time: what arrives while a
// commit is in flight is the next group. So groups grow by themselves under load, and without
// load an order waits for nobody longer than the linger.
type lane struct {
	shard     int
	max       int           // events in a group
	linger    time.Duration // how long the first event of a group waits for company
	committer *committer    // takes its groups to the store
	tracer    tracer

	wake chan struct{} // something is pending; buffered 1
	full chan struct{} // a whole group is pending; buffered 1

	mu      sync.Mutex
	pending []*entry
	closed  bool
}

func newLane(shard, groupMax int, linger time.Duration, c *committer) *lane {
	return &lane{
		shard: shard, max: groupMax, linger: linger, committer: c,
		wake: make(chan struct{}, 1), full: make(chan struct{}, 1),
	}
}

// push adds the event to the next group. It never blocks.
func (l *lane) push(e *entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		e.settle(0, ErrClosed)
		return
	}
	l.pending = append(l.pending, e)
	signal(l.wake)
	if len(l.pending) >= l.max {
		signal(l.full)
	}
}

// empty returns what is pending, which is no longer this lane's.
func (l *lane) empty() []*entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	pending := l.pending
	l.pending = nil
	drain(l.full)
	return pending
}

// run commits groups until ctx ends; what is left then is settled with ErrClosed. It calls settled
// with each group that is, and the span of its commit.
func (l *lane) run(ctx context.Context, settled func([]*entry, trace.Span)) {
	for {
		group := l.next(ctx)
		if group == nil {
			l.close()
			return
		}
		work, span := l.tracer.start(ctx, len(group))
		l.committer.commit(work, l.shard, group)
		settled(group, span)
		span.End()
	}
}

// next waits for the next group, or returns nil when ctx ends.
func (l *lane) next(ctx context.Context) []*entry {
	for {
		if ctx.Err() != nil {
			return nil
		}
		if group := l.take(); group != nil {
			return group
		}
		select {
		case <-l.wake:
			l.wait(ctx)
		case <-ctx.Done():
		}
	}
}

// wait gives a group the linger to grow, unless it is full.
func (l *lane) wait(ctx context.Context) {
	if l.linger == 0 {
		return
	}
	t := time.NewTimer(l.linger)
	defer t.Stop()
	select {
	case <-t.C:
	case <-l.full:
	case <-ctx.Done():
	}
}

func (l *lane) take() []*entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := min(l.max, len(l.pending))
	if n == 0 {
		l.pending = nil // let go of the array that the groups were cut from
		return nil
	}
	group := l.pending[:n:n]
	l.pending = l.pending[n:]
	drain(l.full)
	return group
}

// waiting returns how many events wait for the next group.
func (l *lane) waiting() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.pending)
}

func (l *lane) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	for _, e := range l.pending {
		e.settle(0, ErrClosed)
	}
	l.pending = nil
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func drain(c chan struct{}) {
	select {
	case <-c:
	default:
	}
}
