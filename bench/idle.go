package main

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
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
