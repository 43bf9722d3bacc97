package rollup

import (
	"context"
	"fmt"
	"sync"
	"time"

	"cloud.google.com/go/firestore"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	"go.uber.org/zap"

	"github.com/atlasmart/ordertally/internal/counter"
)

// auditTimeout bounds one audit, which reads an index entry for each marker.
const auditTimeout = 5 * time.Minute

// An Auditor compares the markers of one counter with its shards, again and again, so that an
// alert can tell when they differ. It seals what is right, so that the next audit need not count it
// again and its markers may expire. It repairs nothing.
type Auditor struct {
	audit   func(ctx context.Context) (*counter.AuditReport, error)
	log     *zap.Logger
	drift   metric.Int64Gauge
	success metric.Float64Gauge

	mu   sync.Mutex
	last *counter.AuditReport // nil: none yet
}

// NewAuditor returns the auditor of the named counter.
func NewAuditor(
	client *firestore.Client, name string, log *zap.Logger, m metric.Meter,
) (*Auditor, error) {
	if m == nil {
		m = noop.Meter{}
	}
	a := &Auditor{log: log, audit: func(ctx context.Context) (*counter.AuditReport, error) {
		report, err := counter.Audit(ctx, client, name)
		if err != nil {
			return nil, err
		}
		if _, err := report.Seal(ctx, client, ""); err != nil {
			log.Warn("what the audit verified is not sealed, and is counted again next time",
				zap.Error(err))
		}
		return report, nil
	}}
	var err1, err2 error
	a.drift, err1 = m.Int64Gauge("ordertally_audit_drift_orders",
		metric.WithDescription("Orders by which markers and shards differed at the last audit."))
	a.success, err2 = m.Float64Gauge("ordertally_audit_last_success_timestamp",
		metric.WithUnit("s"), metric.WithDescription("When the last audit came to a result."))
	for _, err := range []error{err1, err2} {
		if err != nil {
			return nil, fmt.Errorf("making the audit's metrics: %w", err)
		}
	}
	return a, nil
}

// Run audits at once and then at every tick, until ctx ends. An audit that went wrong is logged,
// and says nothing about the counter. Until one succeeds the last success is 1970.
func (a *Auditor) Run(ctx context.Context, every time.Duration) {
	a.success.Record(ctx, 0)
	repeat(ctx, every, func(now time.Time) { a.tick(ctx, now) })
}

func (a *Auditor) tick(ctx context.Context, now time.Time) {
	run, cancel := context.WithTimeout(ctx, auditTimeout)
	defer cancel()
	report, err := a.audit(run)
	if ctx.Err() != nil {
		return // the program ends, and what that broke is no failure
	}
	if err != nil {
		a.log.Error("audit failed", zap.Error(err))
		return
	}
	drift := driftOf(report)
	a.drift.Record(ctx, drift)
	a.success.Record(ctx, float64(now.UnixMilli())/1000)
	a.mu.Lock()
	a.last = report
	a.mu.Unlock()
	if !report.OK {
		a.log.Error("markers and shards differ", zap.Int64("orders", drift),
			zap.Int64("markers", report.Markers), zap.Int64("count", report.Count))
		return
	}
	a.log.Info("audited", zap.Int64("markers", report.Markers), zap.Time("readTime", report.ReadTime))
}

// driftOf is by how many orders the report differs: of the whole, of its shards and of its days
// the most, since what is too many in one shard and too few in another is nothing in the sum.
// Orders whose markers have expired are no part of it: they are sealed, or unknown.
func driftOf(r *counter.AuditReport) int64 {
	var shards, days int64
	for _, s := range r.Shards {
		shards += max(s.Drift, -s.Drift)
	}
	for _, d := range r.Days {
		days += max(d.Drift, -d.Drift)
	}
	return max(r.Drift, -r.Drift, shards, days)
}

// Last returns the last report, or nil.
func (a *Auditor) Last() *counter.AuditReport {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.last
}
