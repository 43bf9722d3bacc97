package main

import (
	"context"
	"sync/atomic"
	"time"

	"cloud.google.com/go/pubsub/v2"

	"github.com/atlasmart/ordertally/internal/consume"
)

// textbookConsumer runs a consumer that counts each message in a transaction of its own, as the
// samples do, over n messages. It stops when all are settled or it was watched for long enough.
// What it settles in the time of skip is not measured.
func (r *round) textbookConsumer(
	ctx context.Context, n, inFlight, streams int, skip time.Duration,
) (record, error) {
	q, err := r.queue(ctx)
	if err != nil {
		return record{}, err
	}
	if err := r.fill(ctx, q, n); err != nil {
		return record{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, skip+watch)
	defer cancel()
	a := newArrival(n, cancel)
	rec := record{Mode: "textbook-consumer", Concurrency: inFlight, Shards: shards, GroupMax: 1,
		Streams: streams}
	if skip > 0 {
		rec.Mode = "textbook-collapsed"
	}
	return r.measure(rec, func() (run, error) {
		start := time.Now()
		base := make(chan tally, 1)
		time.AfterFunc(skip, func() { base <- r.calls.now() })
		err := r.receiveNaively(ctx, q, inFlight, streams, a)
		before := <-base
		end := a.last
		if a.left.Load() > 0 {
			end = start.Add(skip + watch)
		}
		res := a.since(start.Add(skip), end)
		res.before = &before
		return res, err
	})
}

// receiveNaively is the textbook consumer.
func (r *round) receiveNaively(
	ctx context.Context, q queue, inFlight, streams int, a *arrival,
) error {
	name, start := r.name("textbook-consumer"), time.Now()
	sub := r.ps.Subscriber(q.subscription)
	sub.ReceiveSettings.MaxOutstandingMessages = inFlight
	sub.ReceiveSettings.NumGoroutines = streams
	decoder := consume.NewDecoder(consume.DefaultKinds)
	var next atomic.Int64
	return sub.Receive(ctx, func(ctx context.Context, m *pubsub.Message) {
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
}
