package counter

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// maxShardLabels is up to how many shards each has a label of its own: a series for each shard
// and outcome is worth it where a hot shard can be told by eye.
const maxShardLabels = 100

// metrics are the instruments of the lanes. Names and labels are the design's.
type metrics struct {
	seconds metric.Float64Histogram
	orders  metric.Int64Histogram
	commits metric.Int64Counter
}

// laneMetrics are the instruments with the labels of one lane.
type laneMetrics struct {
	*metrics
	ok, duplicate, contended, retried, failed metric.MeasurementOption
}

func newMetrics(m metric.Meter) (*metrics, error) {
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
	return &metrics{seconds: seconds, orders: orders, commits: commits}, nil
}

// lane returns the metrics of one of a counter's shards.
func (m *metrics) lane(counter string, shard, shards int) *laneMetrics {
	outcome := func(v string) metric.MeasurementOption {
		labels := []attribute.KeyValue{
			attribute.String("counter", counter), attribute.String("outcome", v)}
		if shards <= maxShardLabels {
			labels = append(labels, attribute.Int("shard", shard))
		}
		return metric.WithAttributeSet(attribute.NewSet(labels...))
	}
	l := &laneMetrics{metrics: m,
		ok: outcome("ok"), duplicate: outcome("duplicate"), contended: outcome("contended"),
		retried: outcome("retried"), failed: outcome("failed")}
	// Prometheus sees no increase in a series that begins at 1.
	for _, o := range []metric.MeasurementOption{
		l.ok, l.duplicate, l.contended, l.retried, l.failed} {
		m.commits.Add(context.Background(), 0, o)
	}
	return l
}

func (m *laneMetrics) group(ctx context.Context, orders int) { m.orders.Record(ctx, int64(orders)) }

func (m *laneMetrics) commit(ctx context.Context, took time.Duration, err error) {
	m.seconds.Record(ctx, took.Seconds())
	m.commits.Add(ctx, 1, m.outcome(err))
}

func (m *laneMetrics) outcome(err error) metric.MeasurementOption {
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
