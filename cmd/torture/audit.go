package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"cloud.google.com/go/firestore"

	"github.com/atlasmart/ordertally/internal/counter"
)

// A driftError is an audit that did not agree.
type driftError struct{ *counter.AuditReport }

func (e driftError) Error() string {
	return fmt.Sprintf("drift %d: the shards say %d and there are %d markers at %s",
		e.Drift, e.Count, e.Markers, e.ReadTime.Format(time.RFC3339Nano))
}

// auditEvery is from the end of one audit to the next, at least. An audit of many markers takes the
// emulator a second, which is the workers' second too: the rest is auditRest times as long.
const (
	auditEvery = 500 * time.Millisecond
	auditRest  = 4
)

// An auditor compares markers and shards again and again.
type auditor struct {
	documents *firestore.Client

	mu    sync.Mutex
	looks int
	last  *counter.AuditReport
}

// run audits until ctx ends, which is no error, or a drift is seen.
func (a *auditor) run(ctx context.Context) error {
	tick := time.NewTimer(0)
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
		start := time.Now()
		if _, err := a.look(ctx); err != nil && ctx.Err() == nil &&
			!errors.Is(err, counter.ErrNotFound) { // no worker has created it yet
			return err
		}
		tick.Reset(max(auditEvery, auditRest*time.Since(start)))
	}
}

// look audits once.
func (a *auditor) look(ctx context.Context) (*counter.AuditReport, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	report, err := counter.Audit(ctx, a.documents, counterName)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.looks++
	a.last = report
	if !report.OK {
		return report, driftError{report}
	}
	return report, nil
}

// seen returns how many audits agreed, and how many orders the last one saw counted.
func (a *auditor) seen() (looks int, counted int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.last == nil {
		return 0, 0
	}
	return a.looks, a.last.Count
}

// exact returns an error unless exactly n orders are counted, with a marker each.
func (a *auditor) exact(ctx context.Context, n int) error {
	report, err := a.look(ctx)
	if err != nil {
		return err
	}
	if report.Count != int64(n) || report.Markers != int64(n) {
		return fmt.Errorf("%d orders, but a total of %d and %d markers", n, report.Count, report.Markers)
	}
	return nil
}
