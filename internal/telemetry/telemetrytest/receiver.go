// Package telemetrytest shows tests what a program tells the world of itself.
package telemetrytest

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	metricspb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	tracespb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	metricpb "go.opentelemetry.io/proto/otlp/metrics/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
)

// A Receiver takes metrics and traces by OTLP, and keeps them.
type Receiver struct {
	metricspb.UnimplementedMetricsServiceServer

	mu      sync.Mutex
	service string
	metrics map[string]*metricpb.Metric
	spans   []*tracepb.Span
}

// Serve returns a receiver at an URL, by HTTP, until the test ends.
func Serve(t testing.TB) (r *Receiver, url string) {
	t.Helper()
	r = &Receiver{}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/metrics", func(w http.ResponseWriter, req *http.Request) {
		receive(w, req, &metricspb.ExportMetricsServiceRequest{}, r.Export)
	})
	mux.HandleFunc("POST /v1/traces", func(w http.ResponseWriter, req *http.Request) {
		receive(w, req, &tracespb.ExportTraceServiceRequest{}, traces{r: r}.Export)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return r, server.URL
}

// Register returns a receiver that answers at a gRPC server.
func Register(s *grpc.Server) *Receiver {
	r := &Receiver{}
	metricspb.RegisterMetricsServiceServer(s, r)
	tracespb.RegisterTraceServiceServer(s, traces{r: r})
	return r
}

// Service returns the service.name of what came last.
func (r *Receiver) Service() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.service
}

// Metric returns what came last of a metric, or nil.
func (r *Receiver) Metric(name string) *metricpb.Metric {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.metrics[name]
}

// Spans returns the spans of a name.
func (r *Receiver) Spans(name string) (spans []*tracepb.Span) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.spans {
		if s.Name == name {
			spans = append(spans, s)
		}
	}
	return spans
}

// Export implements the service for metrics.
func (r *Receiver) Export(
	_ context.Context, req *metricspb.ExportMetricsServiceRequest,
) (*metricspb.ExportMetricsServiceResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.metrics == nil {
		r.metrics = map[string]*metricpb.Metric{}
	}
	for _, res := range req.ResourceMetrics {
		for _, a := range res.Resource.Attributes {
			if a.Key == "service.name" {
				r.service = a.Value.GetStringValue()
			}
		}
		for _, scope := range res.ScopeMetrics {
			for _, m := range scope.Metrics {
				r.metrics[m.Name] = m
			}
		}
	}
	return &metricspb.ExportMetricsServiceResponse{}, nil
}

// traces is the service for traces, whose method has the same name.
type traces struct {
	tracespb.UnimplementedTraceServiceServer
	r *Receiver
}

// Export implements the service for traces.
func (t traces) Export(
	_ context.Context, req *tracespb.ExportTraceServiceRequest,
) (*tracespb.ExportTraceServiceResponse, error) {
	t.r.mu.Lock()
	defer t.r.mu.Unlock()
	for _, res := range req.ResourceSpans {
		for _, scope := range res.ScopeSpans {
			t.r.spans = append(t.r.spans, scope.Spans...)
		}
	}
	return &tracespb.ExportTraceServiceResponse{}, nil
}

func receive[Req, Res proto.Message](
	w http.ResponseWriter, r *http.Request, req Req, export func(context.Context, Req) (Res, error),
) {
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = proto.Unmarshal(body, req)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	res, _ := export(r.Context(), req) // never fails
	body, _ = proto.Marshal(res)
	w.Header().Set("Content-Type", "application/x-protobuf")
	_, _ = w.Write(body)
}
