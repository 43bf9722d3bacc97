// Package rollup sums a counter's shards into one stale-tolerant total, and records its lag.
//
// The unit of work is Job.RunOnce. It reads every shard at one past read time of the server,
// without a lock, and writes the total, the day's total and each changed day together, on the
// condition that nobody wrote the counter document meanwhile. It never replaces a newer total,
// so any number of rollups may run at once.
package rollup

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"cloud.google.com/go/firestore"
	"go.opentelemetry.io/otel/metric"
	"go.uber.org/zap"

	"github.com/atlasmart/ordertally/internal/counter"
)

// maxRaces is how often a run may lose the counter document to somebody else that has not made
// its total obsolete, before it gives up until the next run.
const maxRaces = 20

// A Job rolls up one counter. One run at a time.
type Job struct {
	client  *firestore.Client
	name    string
	log     *zap.Logger
	metrics *metrics

	// What the job wrote last, so that a repeated run need not read the days again.
	days   map[string]int64
	daysAt time.Time

	due atomic.Int64 // UnixNano of when the loop's next run has ended at the latest; 0: no loop

	mu     sync.Mutex // guards the outcome of the loop's runs, which other goroutines ask for
	status Status
	last   error // of the last run
}

// New returns the job of the named counter.
func New(client *firestore.Client, name string, log *zap.Logger, m metric.Meter) (*Job, error) {
	ms, err := newMetrics(m)
	if err != nil {
		return nil, err
	}
	return &Job{client: client, name: name, log: log, metrics: ms}, nil
}

// A Result is what a run left in the counter document.
type Result struct {
	counter.Rollup
	Wrote bool // false: a fresher total was there already
	Days  int  // day documents written
}

// RunOnce rolls the counter up. now decides nothing but which calendar day is today, in the
// counter's time zone; the read time is the server's. The counter being unknown and a shard that
// is not one are errors that name it, and leave the old total as it is.
func (j *Job) RunOnce(ctx context.Context, now time.Time) (Result, error) {
	start := time.Now()
	reading, err := counter.Read(ctx, j.client, j.name)
	if err != nil {
		return Result{}, err
	}
	res, err := j.save(ctx, reading, now)
	if err != nil {
		return Result{}, err
	}
	j.metrics.succeeded(ctx, res.Rollup, now, time.Since(start))
	return res, nil
}

// save writes what was read, unless a fresher total is there.
func (j *Job) save(ctx context.Context, r *counter.Reading, now time.Time) (Result, error) {
	days := r.Days()
	for range maxRaces {
		if !r.Rollup.AsOf.Before(r.ReadTime) {
			return Result{Rollup: r.Rollup}, nil
		}
		next := following(r, counter.Day(now, r.Definition.Location), days)
		changed, err := j.changed(ctx, r, days)
		if err != nil {
			return Result{}, err
		}
		err = counter.SaveRollup(ctx, j.client, r, next, changed)
		if err == nil {
			j.days, j.daysAt = days, next.AsOf
			j.compare(next)
			return Result{Rollup: next, Wrote: true, Days: len(changed)}, nil
		}
		if !errors.Is(err, counter.ErrRaced) {
			return Result{}, err
		}
		if err := r.Refresh(ctx, j.client); err != nil {
			return Result{}, err
		}
	}
	return Result{}, fmt.Errorf("rolling up %q: %w, %d times in a row", j.name,
		counter.ErrRaced, maxRaces)
}

// compare says when orders are gone that an earlier rollup saw. Counts only grow, unless somebody
// repaired them: a shard was deleted, or replaced by hand and then overwritten by a commit.
func (j *Job) compare(next counter.Rollup) {
	if next.LagEvents < 0 {
		j.log.Warn("the total is lower than before: see rollup audit",
			zap.Int64("total", next.Total), zap.Int64("fewer", -next.LagEvents))
	}
}

// following is the rollup after the one that r found.
func following(r *counter.Reading, today string, days map[string]int64) counter.Rollup {
	next := counter.Rollup{
		Total:  r.Total(),
		Today:  counter.DayTotal{Day: today, Total: days[today]},
		AsOf:   r.ReadTime,
		Shards: int64(len(r.Shards)),
	}
	if old := r.Rollup; !old.AsOf.IsZero() {
		next.LagMs = next.AsOf.Sub(old.AsOf).Milliseconds()
		next.LagEvents = next.Total - old.Total
	}
	return next
}

// changed is the part of days that differs from the day documents. They are written together
// with the total, so an unchanged total has no changed days.
func (j *Job) changed(
	ctx context.Context, r *counter.Reading, days map[string]int64,
) (map[string]int64, error) {
	old := r.Rollup
	if !old.AsOf.IsZero() && old.Total == r.Total() {
		return nil, nil
	}
	known := j.days
	if old.AsOf.IsZero() || !j.daysAt.Equal(old.AsOf) {
		var err error
		if known, err = counter.DayTotals(ctx, j.client, j.name, days); err != nil {
			return nil, err
		}
	}
	changed := map[string]int64{}
	for day, n := range days {
		if was, ok := known[day]; !ok || was != n {
			changed[day] = n
		}
	}
	return changed, nil
}
