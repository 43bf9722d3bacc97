package rollup

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/atlasmart/ordertally/internal/counter"
)

// metrics are the instruments of the job. Names are the design's.
type metrics struct {
	last    atomic.Pointer[counter.Rollup] // nil: no success yet, and nothing to expose
	lag     metric.Float64Gauge
	orders  metric.Int64Gauge
	success metric.Float64Gauge
	seconds metric.Float64Histogram
}

func newMetrics(m metric.Meter) (*metrics, error) {
	if m == nil {
		m = noop.Meter{}
	}
	ms := &metrics{}
	// A gauge, in spite of its name: a counter would seem to restart from 0 with the process.
	_, err1 := m.Int64ObservableGauge("ordertally_rollup_total",
		metric.WithDescription("Orders ever counted, as of the last rollup."),
		metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error {
			if r := ms.last.Load(); r != nil {
				o.Observe(r.Total)
			}
			return nil
		}))
	var err2, err3, err4, err5 error
	ms.lag, err2 = m.Float64Gauge("ordertally_rollup_lag", metric.WithUnit("s"),
		metric.WithDescription("How long a reader of the replaced total was behind at most."))
	ms.orders, err3 = m.Int64Gauge("ordertally_rollup_lag_orders",
		metric.WithDescription("Orders that a reader of the replaced total missed."))
	ms.success, err4 = m.Float64Gauge("ordertally_rollup_last_success_timestamp",
		metric.WithUnit("s"), metric.WithDescription("When the last rollup succeeded."))
	ms.seconds, err5 = m.Float64Histogram("ordertally_rollup_seconds",
		metric.WithDescription("How long a successful rollup took."),
		metric.WithExplicitBucketBoundaries(.1, .15, .25, .5, 1, 2.5, 5, 10, 30, 60))
	for _, err := range []error{err1, err2, err3, err4, err5} {
		if err != nil {
			return nil, fmt.Errorf("making the rollup's metrics: %w", err)
		}
	}
	return ms, nil
}

func (m *metrics) succeeded(
	ctx context.Context, r counter.Rollup, now time.Time, took time.Duration,
) {
	m.last.Store(&r)
	m.lag.Record(ctx, float64(r.LagMs)/1000)
	m.orders.Record(ctx, r.LagEvents)
	m.success.Record(ctx, float64(now.UnixMilli())/1000)
	m.seconds.Record(ctx, took.Seconds())
}
