package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/atlasmart/ordertally/internal/consume"
	"github.com/atlasmart/ordertally/internal/counter"
)

// streams is how many streaming pulls a worker opens: the product's WORKER_STREAMS. The emulator
// gives about 1,900 messages a second to each, in ticks of 50 ms, and each costs it CPU in every
// tick, whether or not the worker keeps up. So three workers share as many as one has.
const (
	streams       = 16
	workers       = 3
	workerStreams = (streams + workers - 1) / workers
)

// publishBatch is how many messages a publish call carries.
const publishBatch = 500

// A queue is a topic with one subscription.
type queue struct{ topic, subscription string }

func (r *round) queue(ctx context.Context) (queue, error) {
	name := r.name("queue")
	q := queue{"projects/" + project + "/topics/" + name,
		"projects/" + project + "/subscriptions/" + name}
	_, err := r.ps.TopicAdminClient.CreateTopic(ctx, &pubsubpb.Topic{Name: q.topic})
	if err != nil {
		return q, fmt.Errorf("creating a topic: %w", err)
	}
	_, err = r.ps.SubscriptionAdminClient.CreateSubscription(ctx, &pubsubpb.Subscription{
		Name: q.subscription, Topic: q.topic, AckDeadlineSeconds: 60})
	if err != nil {
		return q, fmt.Errorf("creating a subscription: %w", err)
	}
	return q, nil
}

// fill publishes orders 0 to n-1, before the clock starts.
func (r *round) fill(ctx context.Context, q queue, n int) error {
	var g errgroup.Group
	g.SetLimit(4)
	for from := 0; from < n; from += publishBatch {
		g.Go(func() error { return r.publish(ctx, q, from, min(n, from+publishBatch)) })
	}
	return g.Wait()
}

func (r *round) publish(ctx context.Context, q queue, from, to int) error {
	req := &pubsubpb.PublishRequest{Topic: q.topic}
	for i := from; i < to; i++ {
		req.Messages = append(req.Messages, &pubsubpb.PubsubMessage{
			Data: fmt.Appendf(nil, `{"orderId":"ord-%d"}`, i)})
	}
	_, err := r.ps.TopicAdminClient.Publish(ctx, req)
	return err
}

// An arrival notes when orders are settled, and ends the stage with the last one.
type arrival struct {
	left atomic.Int64
	stop context.CancelFunc
	mu   sync.Mutex
	all  []settlement
	last time.Time
}

func newArrival(n int, stop context.CancelFunc) *arrival {
	a := &arrival{stop: stop}
	a.left.Store(int64(n))
	return a
}

type settlement struct {
	at   time.Time
	took time.Duration // since it was published
}

func (a *arrival) settled(published time.Time) {
	now := time.Now()
	a.mu.Lock()
	a.all = append(a.all, settlement{now, now.Sub(published)})
	a.last = now
	a.mu.Unlock()
	if a.left.Add(-1) == 0 {
		a.stop()
	}
}

// since is what was settled from start to end.
func (a *arrival) since(start, end time.Time) run {
	r := run{elapsed: end.Sub(start)}
	for _, s := range a.all {
		if !s.at.Before(start) {
			r.took = append(r.took, s.took)
		}
	}
	return r
}

// adder is what the consumer hands orders to.
type adder interface {
	Add(ctx context.Context, o counter.Order) (counter.Outcome, error)
}

// A watched adder notes what was settled.
type watched struct {
	adder
	*arrival
}

func (w watched) Add(ctx context.Context, o counter.Order) (counter.Outcome, error) {
	out, err := w.adder.Add(ctx, o)
	if err == nil {
		w.settled(o.PublishedAt)
	}
	return out, err
}

// nothing counts nothing: what is left is receiving and acknowledging.
type nothing struct{}

func (nothing) Add(context.Context, counter.Order) (counter.Outcome, error) {
	return counter.Counted, nil
}

// drain runs the product's consumers over a queue that holds n messages until all are settled.
func (r *round) drain(ctx context.Context, q queue, n, streams int, adders ...adder) (run, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	a := newArrival(n, cancel)
	start := time.Now()
	err := r.consume(ctx, q, a, streams, adders...)
	if left := a.left.Load(); left > 0 && err == nil {
		err = fmt.Errorf("%d of %d messages were not settled in %v", left, n, patience)
	}
	return a.since(start, a.last), err
}

// consume runs a consumer of the product for each adder until ctx ends.
func (r *round) consume(
	ctx context.Context, q queue, a *arrival, streams int, adders ...adder,
) error {
	var g errgroup.Group
	for _, add := range adders {
		c, err := consume.New(r.ps, watched{add, a}, consume.Config{
			Subscription: q.subscription, Kinds: consume.DefaultKinds, MaxOutstanding: callers,
			Streams: streams, Grace: 10 * time.Second, Log: zap.NewNop()})
		if err != nil {
			return err
		}
		g.Go(func() error { return c.Run(ctx) })
	}
	return g.Wait()
}

func (r *round) overPubSub(mode string, groupMax, streams int) record {
	return record{Mode: mode, Concurrency: callers, Shards: shards, GroupMax: groupMax,
		Streams: streams}
}

// ackOnly receives and acknowledges, and counts nothing: the ceiling of this transport.
func (r *round) ackOnly(ctx context.Context, n int) (record, error) {
	q, err := r.queue(ctx)
	if err != nil {
		return record{}, err
	}
	if err := r.fill(ctx, q, n); err != nil {
		return record{}, err
	}
	return r.measure(r.overPubSub("ack-only", 0, streams), func() (run, error) {
		return r.drain(ctx, q, n, streams, nothing{})
	})
}

// endToEnd runs the product over a first pass of n orders, a replay of all of them by a worker
// that does not remember them, and one by a worker that does. Each has a queue of its own: the
// emulator may feed a stream that has just ended, and holds what it fed for its lease.
func (r *round) endToEnd(ctx context.Context, n, groupMax int) ([]record, error) {
	name := r.name("end-to-end")
	var records []record
	var worker *counter.Counter
	var err error
	for _, pass := range []struct {
		mode  string
		fresh bool
	}{{"end-to-end", true}, {"replay", true}, {"replay-remembered", false}} {
		if pass.fresh {
			if worker, err = r.open(ctx, name, groupMax); err != nil {
				return nil, err
			}
			defer worker.Close()
		}
		q, err := r.queue(ctx)
		if err != nil {
			return nil, err
		}
		if err := r.fill(ctx, q, n); err != nil {
			return nil, err
		}
		rec, err := r.measure(r.overPubSub(pass.mode, groupMax, streams), func() (run, error) {
			return r.drain(ctx, q, n, streams, worker)
		})
		if err != nil {
			return nil, err
		}
		records = append(records, rec)
	}
	return records, nil
}

// threeWorkers runs the product's workers over one subscription.
func (r *round) threeWorkers(ctx context.Context, n, groupMax int) (record, error) {
	q, err := r.queue(ctx)
	if err != nil {
		return record{}, err
	}
	if err := r.fill(ctx, q, n); err != nil {
		return record{}, err
	}
	name := r.name("three-workers")
	var adders []adder
	for range workers {
		c, err := r.open(ctx, name, groupMax)
		if err != nil {
			return record{}, err
		}
		defer c.Close()
		adders = append(adders, c)
	}
	shape := r.overPubSub("three-workers", groupMax, workerStreams)
	rec, err := r.measure(shape, func() (run, error) {
		return r.drain(ctx, q, n, workerStreams, adders...)
	})
	if err != nil {
		return rec, err
	}
	return rec, r.exact(ctx, name, n)
}

// exact fails unless the counter holds orders 0 to n-1, and nothing more. An audit would take the
// emulator a minute beside the markers of all other stages.
func (r *round) exact(ctx context.Context, name string, n int) error {
	reading, err := counter.Read(ctx, r.fs, name)
	if err != nil {
		return err
	}
	ids := make([]counter.EventID, n)
	for i := range ids {
		ids[i] = order(i, time.Time{}).Event(name)
	}
	markers, err := counter.Markers(ctx, r.fs, ids)
	if err != nil {
		return err
	}
	if total := reading.Total(); total != int64(n) || len(markers) != n {
		return fmt.Errorf("%s: %d orders, but a total of %d and %d markers", name, n, total, len(markers))
	}
	return nil
}
