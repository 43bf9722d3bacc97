package counter

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// A tracer makes a span for each group of one lane, from its first commit attempt until the last
// event is settled. The messages that were settled by it have traces of their own, so the span
// links theirs.
type tracer struct {
	trace.Tracer
	lane trace.SpanStartEventOption // what all spans of the lane say
}

func newTracer(t trace.Tracer, counter string, shard int) tracer {
	return tracer{t, trace.WithAttributes(attribute.String("ordertally.counter", counter),
		attribute.Int("ordertally.shard", shard))}
}

func (t tracer) start(ctx context.Context, orders int) (context.Context, trace.Span) {
	return t.Start(ctx, "ordertally commit group", trace.WithNewRoot(), t.lane,
		trace.WithAttributes(attribute.Int("ordertally.orders", orders)))
}

// link adds the message whose span is in ctx to the event. The lock of lanes is held.
func (e *entry) link(ctx context.Context) {
	if span := trace.SpanContextFromContext(ctx); span.IsValid() {
		e.messages = append(e.messages, span)
	}
}

// linkTo links the messages of the events to a span. The lock of lanes is held, and no copy joins
// the events any more.
func linkTo(span trace.Span, group []*entry) {
	if !span.IsRecording() {
		return
	}
	for _, e := range group {
		for _, m := range e.messages {
			span.AddLink(trace.Link{SpanContext: m})
		}
	}
}
