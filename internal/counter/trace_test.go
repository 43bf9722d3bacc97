package counter

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// TestSpans wants each message to be linked by the span of the commit that settled it: the first
// of its event, a copy that came before the commit, and one that came while it was in flight.
func TestSpans(t *testing.T) {
	recorder := tracetest.NewSpanRecorder()
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder)).Tracer("test")
	inBubble(t, 1, Options{Tracer: tracer}, func(t *testing.T, b *bench) {
		b.store.refuse = func(n int, _ *batch) error {
			if n == 1 {
				return status.Error(codes.Unavailable, "away")
			}
			return nil
		}
		names := map[string]string{} // of messages, by span id
		for _, m := range []struct{ name, order string }{
			{"first", "a"}, {"second", "b"}, {"copy", "b"}, {"copy in flight", "a"}} {
			ctx, span := tracer.Start(t.Context(), m.name)
			span.End()
			names[span.SpanContext().SpanID().String()] = m.name
			b.wg.Go(func() { _, _ = b.Add(ctx, order(m.order)) })
			synctest.Wait() // until the lane has it
		}
		b.wg.Go(func() { _, _ = b.Add(context.Background(), order("c")) }) // of no trace
		b.wg.Wait()
		b.Close()

		var got [][]string
		for _, span := range commitSpans(recorder) {
			var links []string
			for _, l := range span.Links() {
				links = append(links, names[l.SpanContext.SpanID().String()])
			}
			got = append(got, links)
			if span.Parent().IsValid() {
				t.Error("a commit's span has a parent")
			}
		}
		want := [][]string{{"first", "copy in flight"}, {"second", "copy"}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("messages linked by each commit (-want +got):\n%s", diff)
		}
	})
	first := commitSpans(recorder)[0]
	if events := first.Events(); len(events) != 1 || events[0].Name != "exception" {
		t.Errorf("events %v, want the failed attempt", events)
	}
	want := attribute.NewSet(attribute.String("ordertally.counter", "orders"),
		attribute.Int("ordertally.shard", 0), attribute.Int("ordertally.orders", 1))
	if got := attribute.NewSet(first.Attributes()...); got != want {
		t.Errorf("attributes %v, want %v", got.ToSlice(), want.ToSlice())
	}
}

func commitSpans(r *tracetest.SpanRecorder) (spans []sdktrace.ReadOnlySpan) {
	for _, span := range r.Ended() {
		if span.Name() == "ordertally commit group" {
			spans = append(spans, span)
		}
	}
	return spans
}
