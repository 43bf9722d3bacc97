package telemetry

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	"go.uber.org/zap"
)

// flushTimeout is how long Close waits for a receiver: no more than a shutdown can spare.
const flushTimeout = time.Second

// Signals are one program's metrics and traces, and what sends them.
type Signals struct {
	*Metrics
	tracing *sdktrace.TracerProvider // nil: off
}

// Open makes the signals of a program, such as worker. With traces on it makes its tracer provider
// the process's, since the Google clients look for theirs there; and what the SDK has to complain
// of, such as a receiver that is away, goes to log in any case.
func (e *Export) Open(ctx context.Context, program string, log *zap.Logger) (*Signals, error) {
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		log.Warn("metrics or traces not sent", zap.Error(err))
	}))
	res, err := describe(ctx, program)
	if err != nil {
		return nil, err
	}
	opts := []sdkmetric.Option{sdkmetric.WithResource(res)}
	if e.pushesMetrics() {
		exporter, err := e.metrics(ctx)
		if err != nil {
			return nil, fmt.Errorf("making the OTLP exporter of metrics: %w", err)
		}
		opts = append(opts, sdkmetric.WithReader(sdkmetric.NewPeriodicReader(exporter)))
	}
	s := &Signals{}
	if s.Metrics, err = NewMetrics(opts...); err != nil {
		return nil, err
	}
	if !e.Tracing() {
		return s, nil
	}
	exporter, err := e.traces(ctx)
	if err != nil {
		return nil, fmt.Errorf("making the OTLP exporter of traces: %w", err)
	}
	s.tracing = sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter),
		sdktrace.WithResource(res), sdktrace.WithRawSpanLimits(spanLimits()))
	otel.SetTracerProvider(s.tracing)
	return s, nil
}

// spanLimits are the SDK's, but for the links: 128 by default, and a commit's span has one for
// each message of its group.
func spanLimits() sdktrace.SpanLimits {
	limits := sdktrace.NewSpanLimits()
	if os.Getenv("OTEL_SPAN_LINK_COUNT_LIMIT") == "" {
		limits.LinkCountLimit = -1
	}
	return limits
}

// describe says who sends the signals. OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES have the
// last word.
func describe(ctx context.Context, program string) (*resource.Resource, error) {
	res, err := resource.New(ctx, resource.WithTelemetrySDK(),
		resource.WithAttributes(attribute.String("service.name", "ordertally-"+program),
			attribute.String("service.version", ReadBuild().Version)),
		resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("describing the process for OpenTelemetry: %w", err)
	}
	return res, nil
}

// Tracer makes the spans of all components. With traces off they are never recorded.
func (s *Signals) Tracer() trace.Tracer {
	const name = "github.com/atlasmart/ordertally"
	if s.tracing == nil {
		return noop.NewTracerProvider().Tracer(name)
	}
	return s.tracing.Tracer(name)
}

// Close sends what is left, for a second at most. What is then not sent is lost, and no failure of
// the program's.
func (s *Signals) Close(log *zap.Logger) {
	ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	err := s.Shutdown(ctx)
	if s.tracing != nil {
		err = errors.Join(err, s.tracing.Shutdown(ctx))
	}
	if err != nil {
		log.Warn("metrics or traces not sent", zap.Error(err))
	}
}
