package consume

import (
	"context"
	"strings"
	"sync"
	"testing"

	"cloud.google.com/go/pubsub/v2"
	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// TestTracing wants the order of a message to be handed over with the message's own span, which
// is what a commit's span links. It changes the process's tracer provider, and is not parallel.
func TestTracing(t *testing.T) {
	recorder := tracetest.NewSpanRecorder()
	otel.SetTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder)))
	t.Cleanup(func() { otel.SetTracerProvider(noop.NewTracerProvider()) })
	var mu sync.Mutex
	spans := map[trace.SpanID]bool{}
	l := newLedger()
	l.before = func(ctx context.Context, _ string, _ int) error {
		mu.Lock()
		defer mu.Unlock()
		spans[trace.SpanContextFromContext(ctx).SpanID()] = true
		return nil
	}
	e := newEdge(t, l)
	conn, err := grpc.NewClient("passthrough:///"+e.server.Addr, grpc.WithNoProxy(),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	closing(t, e.client) // the other one is closed with the edge
	e.client, err = pubsub.NewClientWithConfig(context.Background(), "p",
		&pubsub.ClientConfig{EnableOpenTelemetryTracing: true}, option.WithGRPCConn(conn))
	if err != nil {
		t.Fatal(err)
	}
	e.run()
	e.eventuallyAcked(e.publishOrder("ord-1"), e.publishOrder("ord-2"))
	e.drained()
	var process int
	for _, span := range recorder.Ended() {
		if strings.HasSuffix(span.Name(), " process") && spans[span.SpanContext().SpanID()] {
			process++
		}
	}
	if process != 2 || len(spans) != 2 {
		t.Errorf("%d spans came with the orders, %d of them of messages, want 2", len(spans), process)
	}
}
