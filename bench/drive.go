package main

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// A run is what a closed loop measured.
type run struct {
	elapsed time.Duration
	took    []time.Duration // of each call
	errors  int
	before  *tally // where the measured part began; nil: with the run
}

// drive calls do for 0 to n-1 from the given number of callers, each of which has its next call
// ready when the last one returns. It stops early after the given time.
func drive(ctx context.Context, n, callers int, limit time.Duration, do func(i int) error) run {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	r := run{took: make([]time.Duration, n)}
	var next, failed atomic.Int64
	var wg sync.WaitGroup
	start := time.Now()
	for range callers {
		wg.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				begin := time.Now()
				if do(i) != nil {
					failed.Add(1)
				}
				r.took[i] = time.Since(begin)
			}
		})
	}
	wg.Wait()
	r.elapsed = time.Since(start)
	r.took = r.took[:min(n, int(next.Load()))]
	r.errors = int(failed.Load())
	return r
}
