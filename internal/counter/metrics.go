package counter

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// metrics are the instruments of the lanes. Names and labels are the design's.
type metrics struct {
	seconds metric.Float64Histogram
	orders  metric.Int64Histogram
	commits metric.Int64Counter

	ok, duplicate, contended, retried, failed metric.MeasurementOption
}

func newMetrics(m metric.Meter, counter string) (*metrics, error) {
	seconds, err1 := m.Float64Histogram("ordertally_commit", metric.WithUnit("s"),
		metric.WithDescription("How long one commit attempt took."),
		metric.WithExplicitBucketBoundaries(
			.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10))
	orders, err2 := m.Int64Histogram("ordertally_group_orders",
		metric.WithDescription("Distinct orders in a group."),
		metric.WithExplicitBucketBoundaries(1, 2, 5, 10, 20, 50, 100, 200, 450))
	commits, err3 := m.Int64Counter("ordertally_commits",
		metric.WithDescription("Commit attempts, by outcome."))
	for _, err := range []error{err1, err2, err3} {
		if err != nil {
			return nil, fmt.Errorf("making the counter's metrics: %w", err)
		}
	}
	outcome := func(v string) metric.MeasurementOption {
		return metric.WithAttributeSet(attribute.NewSet(
			attribute.String("counter", counter), attribute.String("outcome", v)))
	}
	return &metrics{seconds: seconds, orders: orders, commits: commits,
		ok: outcome("ok"), duplicate: outcome("duplicate"), contended: outcome("contended"),
		retried: outcome("retried"), failed: outcome("failed")}, nil
}

func (m *metrics) group(ctx context.Context, orders int) { m.orders.Record(ctx, int64(orders)) }

func (m *metrics) commit(ctx context.Context, took time.Duration, err error) {
	m.seconds.Record(ctx, took.Seconds())
	m.commits.Add(ctx, 1, m.outcome(err))
}

func (m *metrics) outcome(err error) metric.MeasurementOption {
	if err == nil {
		return m.ok
	}
	switch judge(err) {
	case exists:
		return m.duplicate
	case contended:
		return m.contended
	case transient:
		return m.retried
	}
	return m.failed
}
