package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"cloud.google.com/go/pubsub/v2"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/atlasmart/ordertally/internal/consume"
	"github.com/atlasmart/ordertally/internal/counter"
)

// streams is how many streaming pulls the stages through Pub/Sub open: the emulator gives about
// 1,900 messages a second to each, in ticks of 50 ms, so with few of them it is all that is seen.
const streams = 16

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
		g.Go(func() error {
			req := &pubsubpb.PublishRequest{Topic: q.topic}
			for i := from; i < min(n, from+publishBatch); i++ {
				req.Messages = append(req.Messages, &pubsubpb.PubsubMessage{
					Data: fmt.Appendf(nil, `{"orderId":"ord-%d"}`, i)})
			}
			_, err := r.ps.TopicAdminClient.Publish(ctx, req)
			return err
		})
	}
	return g.Wait()
}

// An arrival notes when orders are settled, and ends the stage with the last one.
type arrival struct {
	left atomic.Int64
	stop context.CancelFunc
	mu   sync.Mutex
	took []time.Duration // publish to settlement
	last time.Time
}

func (a *arrival) settled(published time.Time) {
	now := time.Now()
	a.mu.Lock()
	a.took = append(a.took, now.Sub(published))
	a.last = now
	a.mu.Unlock()
	if a.left.Add(-1) == 0 {
		a.stop()
	}
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

// consume runs the product's consumers over a queue that holds n messages until all are settled.
func (r *round) consume(ctx context.Context, q queue, n int, adders ...adder) (run, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	a := &arrival{stop: cancel}
	a.left.Store(int64(n))
	var g errgroup.Group
	start := time.Now()
	for _, add := range adders {
		c, err := consume.New(r.ps, watched{add, a}, consume.Config{
			Subscription: q.subscription, Kinds: consume.DefaultKinds, MaxOutstanding: callers,
			Streams: streams, Grace: 10 * time.Second, Log: zap.NewNop()})
		if err != nil {
			return run{}, err
		}
		g.Go(func() error { return c.Run(ctx) })
	}
	err := g.Wait()
	if left := a.left.Load(); left > 0 && err == nil {
		err = fmt.Errorf("%d of %d messages were not settled in %v", left, n, patience)
	}
	return run{elapsed: a.last.Sub(start), took: a.took}, err
}

func (r *round) overPubSub(mode string, groupMax int) record {
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
	return r.measure(r.overPubSub("ack-only", 0), func() (run, error) {
		return r.consume(ctx, q, n, nothing{})
	})
}

// endToEnd runs the product over a first pass of n orders, a replay of all of them by a worker
// that does not remember them, and one by a worker that does.
func (r *round) endToEnd(ctx context.Context, n, groupMax int) ([]record, error) {
	q, err := r.queue(ctx)
	if err != nil {
		return nil, err
	}
	name := r.name("end-to-end")
	var records []record
	var worker *counter.Counter
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
		if err := r.fill(ctx, q, n); err != nil {
			return nil, err
		}
		rec, err := r.measure(r.overPubSub(pass.mode, groupMax), func() (run, error) {
			return r.consume(ctx, q, n, worker)
		})
		if err != nil {
			return nil, err
		}
		records = append(records, rec)
	}
	return records, nil
}

// threeWorkers runs three of the product's workers over one subscription.
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
	for range 3 {
		c, err := r.open(ctx, name, groupMax)
		if err != nil {
			return record{}, err
		}
		defer c.Close()
		adders = append(adders, c)
	}
	rec, err := r.measure(r.overPubSub("three-workers", groupMax), func() (run, error) {
		return r.consume(ctx, q, n, adders...)
	})
	if err != nil {
		return rec, err
	}
	return rec, r.exact(ctx, name, n)
}

// exact fails unless the counter holds n orders and as many markers.
func (r *round) exact(ctx context.Context, name string, n int) error {
	a, err := counter.Audit(ctx, r.fs, name)
	if err != nil {
		return err
	}
	if !a.OK || a.Count != int64(n) {
		return fmt.Errorf("%s: %d orders, but a count of %d and %d markers", name, n, a.Count, a.Markers)
	}
	return nil
}

// textbookConsumer counts each message in a transaction of its own, as the samples do. It stops
// when all are settled or the limit is reached: with many in flight it collapses into lock waits.
func (r *round) textbookConsumer(
	ctx context.Context, n, inFlight int, limit time.Duration,
) (record, error) {
	q, err := r.queue(ctx)
	if err != nil {
		return record{}, err
	}
	if err := r.fill(ctx, q, n); err != nil {
		return record{}, err
	}
	name := r.name("textbook-consumer")
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	a := &arrival{stop: cancel}
	a.left.Store(int64(n))
	sub := r.ps.Subscriber(q.subscription)
	sub.ReceiveSettings.MaxOutstandingMessages = inFlight
	decoder := consume.NewDecoder(consume.DefaultKinds)
	var next atomic.Int64
	rec := record{Mode: "textbook-consumer", Concurrency: inFlight, Shards: shards, GroupMax: 1,
		Streams: 1}
	return r.measure(rec, func() (run, error) {
		start := time.Now()
		err := sub.Receive(ctx, func(ctx context.Context, m *pubsub.Message) {
			o, err := decoder.Decode(consume.Message{Data: m.Data, PublishTime: m.PublishTime}, start)
			if err == nil {
				err = r.countOnce(ctx, name, o, int(next.Add(1)))
			}
			if err != nil {
				m.Nack()
				return
			}
			m.Ack()
			if ctx.Err() == nil { // in time
				a.settled(m.PublishTime)
			}
		})
		end := a.last
		if a.left.Load() > 0 {
			end = start.Add(limit)
		}
		return run{elapsed: end.Sub(start), took: a.took}, err
	})
}
