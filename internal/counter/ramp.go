package counter

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"cloud.google.com/go/firestore"
	"golang.org/x/time/rate"
)

// The ramp of a collection that is new to Firestore: at most 500 operations a second at first, and
// half as much again every five minutes, so that its key range can be split before it is hot
// (https://cloud.google.com/firestore/docs/best-practices#ramping_up_traffic). After 90 minutes
// that is 740,000 a second, and no limit at all.
const (
	rampFirst  = 500
	rampGrowth = 1.5
	rampStep   = 5 * time.Minute
	rampEnd    = 90 * time.Minute

	// rampIdle is after which time without an order a collection counts as new again: Firestore
	// keeps the splits of a range for about a day after its traffic is gone.
	rampIdle = 24 * time.Hour
)

// A Ramp limits the orders that one worker commits a second, at the pace at which Firestore can
// follow. Its lanes share it.
type Ramp struct {
	mu      sync.Mutex
	start   time.Time // zero: with the first order
	limiter *rate.Limiter
}

// NewRamp returns a ramp that started at start, or starts with the first order when that is zero.
func NewRamp(start time.Time) *Ramp {
	return &Ramp{start: start, limiter: rate.NewLimiter(rampFirst, MaxGroup)}
}

// wait waits until n orders may be committed. A nil Ramp never waits.
func (r *Ramp) wait(ctx context.Context, n int) error {
	if r == nil || r.adjust(time.Now()) {
		return nil
	}
	return r.limiter.WaitN(ctx, n)
}

// adjust sets the limit of this moment, and reports whether the ramp has ended.
func (r *Ramp) adjust(now time.Time) (ended bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.start.IsZero() {
		r.start = now
	}
	age := now.Sub(r.start)
	if limit := rampLimit(age); limit != r.limiter.Limit() {
		r.limiter.SetLimitAt(now, limit)
	}
	return age >= rampEnd
}

func rampLimit(age time.Duration) rate.Limit {
	steps := float64(max(0, age) / rampStep)
	return rate.Limit(rampFirst * math.Pow(rampGrowth, steps))
}

// FindRamp returns the ramp that the named counter needs by what its shards tell: from the start
// when it has no orders yet or had none for a day, the rest of it when its first order is less than
// 90 minutes old, and nil otherwise. It costs a read for each shard.
func FindRamp(ctx context.Context, client *firestore.Client, name string) (*Ramp, error) {
	shards, err := shardsOf(client, name).Documents(ctx).GetAll()
	if err != nil {
		return nil, fmt.Errorf("reading the shards of %q: %w", name, err)
	}
	if len(shards) == 0 {
		return NewRamp(time.Time{}), nil
	}
	first, last := shards[0].CreateTime, shards[0].UpdateTime
	for _, s := range shards {
		if s.CreateTime.Before(first) {
			first = s.CreateTime
		}
		if s.UpdateTime.After(last) {
			last = s.UpdateTime
		}
	}
	return rampOf(first, last, shards[0].ReadTime), nil
}

func rampOf(first, last, now time.Time) *Ramp {
	switch {
	case now.Sub(last) > rampIdle:
		return NewRamp(time.Time{})
	case now.Sub(first) < rampEnd:
		return NewRamp(first)
	}
	return nil
}
