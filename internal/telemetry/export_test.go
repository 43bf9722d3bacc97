package telemetry

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace/noop"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest"
	"google.golang.org/grpc"

	"github.com/atlasmart/ordertally/internal/settings"
	"github.com/atlasmart/ordertally/internal/telemetry/telemetrytest"
)

// load reads an Export from a clean environment and env, as the programs do.
func load(t *testing.T, env map[string]string) (*Export, error) {
	t.Helper()
	for _, entry := range os.Environ() {
		if name, value, _ := strings.Cut(entry, "="); strings.HasPrefix(name, "OTEL_") {
			t.Setenv(name, value) // which puts it back
			os.Unsetenv(name)
		}
	}
	for name, value := range env {
		t.Setenv(name, value)
	}
	e := &Export{}
	return e, settings.Load(settings.Spec{Into: e})
}

func TestExport_badValues(t *testing.T) {
	for _, tt := range []struct{ name, value, want string }{
		{"OTEL_SDK_DISABLED", "yes please", `must be true or false, got "yes please"`},
		{"OTEL_METRICS_EXPORTER", "statsd", `: "statsd" is none of otlp, prometheus, none`},
		{"OTEL_METRICS_EXPORTER", "otlp,none", `: "otlp,none" is both none and something`},
		{"OTEL_TRACES_EXPORTER", "zipkin", `: "zipkin" is none of otlp, none`},
		{"OTEL_EXPORTER_OTLP_PROTOCOL", "http/json", `: "http/json" is none of grpc, http/protobuf`},
		{"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "udp", `: "udp" is none of grpc, http/protobuf`},
		{"OTEL_EXPORTER_OTLP_ENDPOINT", "localhost:4317",
			`: "localhost:4317" is not a URL like http://localhost:4318`},
		{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "ftp://me:hidden@host",
			`: "ftp://me:xxxxx@host" is not a URL like http://localhost:4318`},
		{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://me:hidden@host:port",
			`: "…@host:port" is not a URL like http://localhost:4318`},
		{"OTEL_EXPORTER_OTLP_TIMEOUT", "10s", `: "10s" is not a number of milliseconds`},
		{"OTEL_METRIC_EXPORT_INTERVAL", "0", `: "0" is not a number of milliseconds`},
		{"OTEL_BSP_MAX_QUEUE_SIZE", "-1", `: "-1" is not a whole number above 0`},
		{"OTEL_EXPORTER_OTLP_COMPRESSION", "zip", `: "zip" is none of gzip, none`},
		{"OTEL_EXPORTER_OTLP_INSECURE", "1", `: "1" is none of true, false`},
		{"OTEL_EXPORTER_OTLP_HEADERS", "api-key hidden", `: is not a list like key=value,key=value`},
		{"OTEL_RESOURCE_ATTRIBUTES", "team", `: is not a list like key=value,key=value`},
		{"OTEL_EXPORTER_OTLP_CERTIFICATE", "/no/such/file", `: open /no/such/file: no such file or directory`},
		{"OTEL_TRACES_SAMPLER", "sometimes", `: "sometimes" is none of always_on, always_off, ` +
			`traceidratio, parentbased_always_on, parentbased_always_off, parentbased_traceidratio`},
		{"OTEL_TRACES_SAMPLER_ARG", "2", `: "2" is not a number from 0 to 1`},
		{"OTEL_TRACES_SAMPLER_ARG", "NaN", `: "NaN" is not a number from 0 to 1`},
	} {
		t.Run(tt.name+"="+tt.value, func(t *testing.T) {
			_, err := load(t, map[string]string{tt.name: tt.value})
			want := tt.name + tt.want
			if !strings.HasPrefix(tt.want, ":") {
				want = tt.name + " " + tt.want
			}
			if err == nil || err.Error() != want || settings.ExitCode(err) != 2 {
				t.Errorf("got  %v (exit code %d)\nwant %s (2)", err, settings.ExitCode(err), want)
			}
		})
	}
}

func TestExport_goodValues(t *testing.T) {
	cert := filepath.Join(t.TempDir(), "cert.pem")
	if err := os.WriteFile(cert, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name             string
		env              map[string]string
		metrics, tracing bool
	}{
		{"nothing", nil, false, false},
		{"an endpoint", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318"},
			true, false},
		{"an endpoint for traces alone",
			map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://collector:4318"}, false, false},
		{"prometheus alone", map[string]string{"OTEL_METRICS_EXPORTER": "prometheus",
			"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318"}, false, false},
		{"both", map[string]string{"OTEL_METRICS_EXPORTER": "prometheus,otlp",
			"OTEL_TRACES_EXPORTER": "otlp"}, true, true},
		{"disabled", map[string]string{"OTEL_METRICS_EXPORTER": "otlp",
			"OTEL_TRACES_EXPORTER": "otlp", "OTEL_SDK_DISABLED": "true"}, false, false},
		{"set to nothing", map[string]string{"OTEL_METRICS_EXPORTER": "", "OTEL_TRACES_EXPORTER": "",
			"OTEL_SDK_DISABLED": "", "OTEL_EXPORTER_OTLP_ENDPOINT": "",
			"OTEL_EXPORTER_OTLP_PROTOCOL": "", "OTEL_TRACES_SAMPLER": ""}, false, false},
		{"the rest", map[string]string{"OTEL_EXPORTER_OTLP_HEADERS": "api-key=a%20b, x=",
			"OTEL_EXPORTER_OTLP_CERTIFICATE": cert, "OTEL_EXPORTER_OTLP_TIMEOUT": "500",
			"OTEL_TRACES_SAMPLER": "parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0.01",
			"OTEL_EXPORTER_OTLP_INSECURE": "TRUE", "OTEL_RESOURCE_ATTRIBUTES": "team=orders",
			"OTEL_PROPAGATORS": "b3"}, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e, err := load(t, tt.env)
			if err != nil {
				t.Fatal(err)
			}
			if e.pushesMetrics() != tt.metrics || e.Tracing() != tt.tracing {
				t.Errorf("metrics %v, traces %v, want %v and %v",
					e.pushesMetrics(), e.Tracing(), tt.metrics, tt.tracing)
			}
		})
	}
}

func TestExport_redact(t *testing.T) {
	e := Export{Endpoint: "https://me:hidden@collector:4318/x", TracesEndpoint: "http://collector"}
	got := e.Redact()
	want := Export{Endpoint: "https://me:xxxxx@collector:4318/x", TracesEndpoint: "http://collector"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("redacted (-want +got):\n%s", diff)
	}
}

// TestSignals_sends sends metrics and a span to a receiver, by each protocol.
func TestSignals_sends(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	t.Cleanup(server.Stop)
	overGRPC := telemetrytest.Register(server)
	go func() { _ = server.Serve(listener) }() // until Stop
	overHTTP, url := telemetrytest.Serve(t)
	for _, tt := range []struct {
		name     string
		receiver *telemetrytest.Receiver
		env      map[string]string
	}{
		{"grpc", overGRPC, map[string]string{"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc",
			"OTEL_EXPORTER_OTLP_ENDPOINT": "http://" + listener.Addr().String()}},
		{"http", overHTTP, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": url,
			"OTEL_EXPORTER_OTLP_COMPRESSION": "none"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.env["OTEL_METRICS_EXPORTER"], tt.env["OTEL_TRACES_EXPORTER"] = "otlp", "otlp"
			e, err := load(t, tt.env)
			if err != nil {
				t.Fatal(err)
			}
			s, err := e.Open(t.Context(), "worker", zaptest.NewLogger(t))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { otel.SetTracerProvider(noop.NewTracerProvider()) })
			instruments{t, s.Meter()}.counter("ordertally_messages")
			_, span := otel.Tracer("test").Start(t.Context(), "of a library")
			span.End()
			_, span = s.Tracer().Start(t.Context(), "of ours")
			span.End()
			contains(t, scrape(t, s.Metrics), "ordertally_messages_total 1")
			s.Close(zaptest.NewLogger(t))
			if tt.receiver.Metric("ordertally_messages") == nil {
				t.Error("the metric was not sent")
			}
			if n, m := len(tt.receiver.Spans("of ours")), len(tt.receiver.Spans("of a library")); n+m != 2 {
				t.Errorf("%d and %d spans were sent, want both", n, m)
			}
			if got := tt.receiver.Service(); got != "ordertally-worker" {
				t.Errorf("service.name %q", got)
			}
		})
	}
}

// TestSignals_nobodyListens wants a program to end in time when its receiver is away.
func TestSignals_nobodyListens(t *testing.T) {
	e, err := load(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	recent := &Recent{}
	log := zaptest.NewLogger(t).WithOptions(recent.Option())
	s, err := e.Open(t.Context(), "worker", log)
	if err != nil {
		t.Fatal(err)
	}
	instruments{t, s.Meter()}.counter("ordertally_messages")
	start := time.Now()
	s.Close(log)
	if took := time.Since(start); took > flushTimeout+5*time.Second {
		t.Errorf("Close took %v", took)
	}
	if notes := recent.Notes(); len(notes) != 1 || notes[0].Message != "metrics or traces not sent" {
		t.Errorf("notes: %+v, want that it was not sent", notes)
	}
}

// TestSignals_off wants no span to be recorded, and the process's provider left alone.
func TestSignals_off(t *testing.T) {
	e, err := load(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	before := otel.GetTracerProvider()
	s, err := e.Open(t.Context(), "worker", zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(zap.NewNop())
	if _, span := s.Tracer().Start(t.Context(), "x"); span.IsRecording() {
		t.Error("a span is recorded")
	}
	if otel.GetTracerProvider() != before {
		t.Error("the process has another tracer provider")
	}
}
