package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	idleRate  = 50                     // orders a second
	linger    = 0                      // the product's WORKER_GROUP_LINGER
	idleEvery = time.Second / idleRate // between two orders
)

// idle sends orders one by one, at a rate that leaves everything idle between them, and measures
// each: ours and the textbook in turn, so that both meet the same machine.
func (r *round) idle(ctx context.Context, n int) ([]record, error) {
	name, now := r.name("idle"), time.Now()
	c, err := r.open(ctx, name, groupDefault)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	ours, err := r.measure(record{Mode: "idle", Concurrency: 1, Shards: shards, GroupMax: groupDefault},
		func() (run, error) {
			return paced(ctx, n, func(i int) error {
				_, err := c.Add(ctx, order(i, now))
				return err
			}), nil
		})
	if err != nil {
		return nil, err
	}
	other := r.name("idle-textbook")
	textbook, err := r.measure(record{Mode: "idle-textbook", Concurrency: 1, Shards: shards, GroupMax: 1},
		func() (run, error) {
			return paced(ctx, n, func(i int) error {
				return r.countOnce(ctx, other, order(i, now), i)
			}), nil
		})
	return []record{ours, textbook}, err
}

// paced calls do every idleEvery, whether or not the last call has returned.
func paced(ctx context.Context, n int, do func(i int) error) run {
	r := run{took: make([]time.Duration, n)}
	ticker := time.NewTicker(idleEvery)
	defer ticker.Stop()
	var failed atomic.Int64
	var wg sync.WaitGroup
	start := time.Now()
	for i := range n {
		select {
		case <-ticker.C:
		case <-ctx.Done():
		}
		wg.Go(func() {
			begin := time.Now()
			if do(i) != nil {
				failed.Add(1)
			}
			r.took[i] = time.Since(begin)
		})
	}
	wg.Wait()
	r.elapsed, r.errors = time.Since(start), int(failed.Load())
	return r
}

// idleConsumers is idle through Pub/Sub, from publish to commit: ours and then the textbook
// consumer, each over a queue into which orders come one by one.
func (r *round) idleConsumers(ctx context.Context, n int) ([]record, error) {
	c, err := r.open(ctx, r.name("idle-consumer"), groupDefault)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	ours, err := r.trickle(ctx, "idle-consumer", n, streams,
		func(ctx context.Context, q queue, a *arrival) error {
			return r.consume(ctx, q, a, streams, c)
		})
	if err != nil {
		return nil, err
	}
	textbook, err := r.trickle(ctx, "idle-textbook-consumer", n, 1,
		func(ctx context.Context, q queue, a *arrival) error {
			return r.receiveNaively(ctx, q, callers, 1, a)
		})
	return []record{ours, textbook}, err
}

// trickle publishes n orders one by one to a consumer, and measures each until it is settled.
func (r *round) trickle(ctx context.Context, mode string, n, streams int,
	receive func(context.Context, queue, *arrival) error,
) (record, error) {
	q, err := r.queue(ctx)
	if err != nil {
		return record{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	a := newArrival(n, cancel)
	rec := record{Mode: mode, Concurrency: 1, Shards: shards, Streams: streams}
	return r.measure(rec, func() (run, error) {
		start := time.Now()
		var g errgroup.Group
		g.Go(func() error { return receive(ctx, q, a) })
		sent := paced(ctx, n, func(i int) error { return r.publish(ctx, q, i, i+1) })
		err := g.Wait()
		if left := a.left.Load(); left > 0 && err == nil {
			err = fmt.Errorf("%d of %d messages were not settled in %v", left, n, patience)
		}
		res := a.since(start, a.last)
		res.errors = sent.errors
		return res, err
	})
}
