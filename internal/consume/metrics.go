package consume

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	"google.golang.org/grpc/codes"

	"github.com/atlasmart/ordertally/internal/telemetry"
)

// A result is how a message was settled.
type result int

const (
	nacked result = iota
	counted
	duplicate
	ignored
	deadLettered
)

var resultNames = [...]string{
	nacked: "nacked", counted: "counted", duplicate: "duplicate", ignored: "ignored",
	deadLettered: "dead_lettered",
}

// metrics are the instruments of the consumer. Names and labels are the design's.
type metrics struct {
	messages metric.Int64Counter
	age      metric.Float64Histogram
	restarts metric.Int64Counter

	byResult [len(resultNames)]metric.MeasurementOption
	windows  [len(resultNames)]telemetry.Window // for Status
}

func newMetrics(m metric.Meter, h *hand) (*metrics, error) {
	if m == nil {
		m = noop.Meter{}
	}
	messages, err1 := m.Int64Counter("ordertally_messages",
		metric.WithDescription("Messages settled, by result."))
	_, err2 := m.Int64ObservableGauge("ordertally_in_flight_messages",
		metric.WithDescription("Messages in hand and not settled."),
		metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error {
			o.Observe(int64(h.size()))
			return nil
		}))
	_, err5 := m.Float64ObservableGauge("ordertally_oldest_message_age", metric.WithUnit("s"),
		metric.WithDescription("Since the publish of the oldest message in hand; 0: none."),
		metric.WithFloat64Callback(func(_ context.Context, o metric.Float64Observer) error {
			o.Observe(h.oldest(time.Now()).Seconds())
			return nil
		}))
	age, err3 := m.Float64Histogram("ordertally_message_age", metric.WithUnit("s"),
		metric.WithDescription("From a counted message's publish to its commit."),
		metric.WithExplicitBucketBoundaries(
			.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 60, 300, 3600, 86400))
	restarts, err4 := m.Int64Counter("ordertally_receive_restarts",
		metric.WithDescription("Times the receive loop broke, by gRPC code."))
	for _, err := range []error{err1, err2, err3, err4, err5} {
		if err != nil {
			return nil, fmt.Errorf("making the consumer's metrics: %w", err)
		}
	}
	ms := &metrics{messages: messages, age: age, restarts: restarts}
	for r, name := range resultNames {
		ms.byResult[r] = metric.WithAttributeSet(
			attribute.NewSet(attribute.String("result", name)))
	}
	ms.begin()
	return ms, nil
}

// begin exposes every series at 0: Prometheus sees no increase in one that begins at 1.
func (m *metrics) begin() {
	for _, result := range m.byResult {
		m.messages.Add(context.Background(), 0, result)
	}
	for code := codes.Canceled; code <= codes.Unauthenticated; code++ {
		m.restarts.Add(context.Background(), 0, byCode(code))
	}
}

func (m *metrics) settled(ctx context.Context, r result, age time.Duration) {
	m.messages.Add(ctx, 1, m.byResult[r])
	m.windows[r].Add(time.Now(), 1)
	if r == counted {
		m.age.Record(ctx, age.Seconds())
	}
}

func (m *metrics) restarted(ctx context.Context, code codes.Code) {
	m.restarts.Add(ctx, 1, byCode(code))
}

func byCode(code codes.Code) metric.MeasurementOption {
	return metric.WithAttributes(attribute.String("code", code.String()))
}
