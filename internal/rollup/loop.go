package rollup

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"
)

// runTimeout bounds one run: a call that hangs must not keep the next run from its turn.
const runTimeout = time.Minute

// deadAfter is how long a run may be overdue. It ends within runTimeout, whatever Firestore does:
// beyond twice that the loop itself is stuck, and only a restart helps.
const deadAfter = 2 * runTimeout

// Run rolls up at once and then at every tick, until ctx ends. A run that went wrong is logged,
// and the next one makes up for it. Until one succeeds the last success is 1970 to whoever watches
// it: a loop that never succeeds is as stale as can be.
func (j *Job) Run(ctx context.Context, every time.Duration) {
	j.metrics.success.Record(ctx, 0)
	j.due.Store(time.Now().Add(every + deadAfter).UnixNano())
	repeat(ctx, every, func(now time.Time) {
		j.tick(ctx, now)
		j.due.Store(time.Now().Add(every + deadAfter).UnixNano())
	})
}

// repeat calls do at once and then at every tick, until ctx ends.
func repeat(ctx context.Context, every time.Duration, do func(now time.Time)) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for now := time.Now(); ; {
		do(now)
		select {
		case now = <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

func (j *Job) tick(ctx context.Context, now time.Time) {
	run, cancel := context.WithTimeout(ctx, runTimeout)
	defer cancel()
	start := time.Now()
	res, err := j.RunOnce(run, now)
	if ctx.Err() != nil {
		return // the program ends, and what that broke is no failure
	}
	j.note(res, now, time.Since(start), err)
	if err != nil {
		j.log.Error("rollup failed", zap.Error(err))
		return
	}
	j.log.Info("rolled up", res.Fields()...)
}

// Fields describes the result in a log line.
func (r Result) Fields() []zap.Field {
	return []zap.Field{
		zap.Int64("total", r.Total),
		zap.String("day", r.Today.Day),
		zap.Int64("today", r.Today.Total),
		zap.Time("asOf", r.AsOf),
		zap.Int64("lagMs", r.LagMs),
		zap.Int64("lagOrders", r.LagEvents),
		zap.Int64("shards", r.Shards),
		zap.Bool("wrote", r.Wrote),
		zap.Int("days", r.Days),
	}
}

// A Status is what the loop did, for people.
type Status struct {
	Runs, Failures int64
	Success        time.Time // of the last run that succeeded; zero: none yet
	Took           time.Duration
	Result         Result
}

// note keeps the last run's outcome for Ready and Status.
func (j *Job) note(res Result, now time.Time, took time.Duration, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.status.Runs++
	j.last = err
	if err != nil {
		j.status.Failures++
		return
	}
	j.status.Success, j.status.Took, j.status.Result = now, took, res
}

// Ready returns why the last run of the loop did not succeed, or nil: for /readyz.
func (j *Job) Ready() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.status.Runs == 0 {
		return errors.New("no rollup yet")
	}
	return j.last
}

// Status returns what the loop did until now.
func (j *Job) Status() Status {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.status
}

// Live returns an error when the loop is dead: its next run should have ended long ago, if only
// with an error. It is for /livez; Firestore being down is no such error.
func (j *Job) Live(now time.Time) error {
	due := j.due.Load()
	if late := now.Sub(time.Unix(0, due)); due != 0 && late > 0 {
		return fmt.Errorf("no rollup has ended for %v longer than the longest one takes",
			late.Round(time.Second))
	}
	return nil
}
