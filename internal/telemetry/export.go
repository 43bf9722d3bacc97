package telemetry

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// An Export says where metrics and traces are sent, beside /metrics: the standard variables of
// https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/. An empty one
// counts as not set, there as here. The SDK reads the rest of them by itself (see variables.go).
type Export struct {
	// Disabled turns everything here off.
	Disabled bool `envconfig:"OTEL_SDK_DISABLED" default:"false" empty:"true"`
	// Metrics are among otlp, prometheus and none. Not set: otlp where an endpoint is set.
	// Prometheus finds /metrics in any case.
	Metrics []string `envconfig:"OTEL_METRICS_EXPORTER" empty:"true"`
	// Traces are among otlp and none. Not set: none, since a message has five spans and more.
	Traces []string `envconfig:"OTEL_TRACES_EXPORTER" empty:"true"`
	// Protocol is grpc or http/protobuf, for both or for one of them.
	Protocol        string `envconfig:"OTEL_EXPORTER_OTLP_PROTOCOL" default:"http/protobuf" empty:"true"`
	MetricsProtocol string `envconfig:"OTEL_EXPORTER_OTLP_METRICS_PROTOCOL" empty:"true"`
	TracesProtocol  string `envconfig:"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL" empty:"true"`
	// Endpoint is the receiver's URL, for both or for one of them.
	Endpoint        string `envconfig:"OTEL_EXPORTER_OTLP_ENDPOINT" empty:"true"`
	MetricsEndpoint string `envconfig:"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT" empty:"true"`
	TracesEndpoint  string `envconfig:"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT" empty:"true"`
}

const (
	overGRPC = "grpc"
	overHTTP = "http/protobuf"
)

// Validate implements settings.Validator.
func (e *Export) Validate() (problems []string) {
	problem := func(variable string, err error) {
		if err != nil {
			problems = append(problems, fmt.Sprintf("%s: %v", variable, err))
		}
	}
	problem("OTEL_METRICS_EXPORTER", checkExporters(e.Metrics, "otlp", "prometheus", "none"))
	problem("OTEL_TRACES_EXPORTER", checkExporters(e.Traces, "otlp", "none"))
	for _, signal := range []struct{ name, protocol, endpoint string }{
		{"", e.Protocol, e.Endpoint},
		{"METRICS_", e.MetricsProtocol, e.MetricsEndpoint},
		{"TRACES_", e.TracesProtocol, e.TracesEndpoint},
	} {
		prefix := "OTEL_EXPORTER_OTLP_" + signal.name
		problem(prefix+"PROTOCOL", oneOf(signal.protocol, "", overGRPC, overHTTP))
		problem(prefix+"ENDPOINT", checkEndpoint(signal.endpoint))
	}
	return append(problems, checkVariables()...)
}

func checkExporters(exporters []string, known ...string) error {
	for _, e := range exporters {
		if err := oneOf(e, known...); err != nil {
			return err
		}
	}
	if len(exporters) > 1 && slices.Contains(exporters, "none") {
		return fmt.Errorf("%q is both none and something", strings.Join(exporters, ","))
	}
	return nil
}

func oneOf(value string, known ...string) error {
	if slices.Contains(known, value) {
		return nil
	}
	known = slices.DeleteFunc(slices.Clone(known), func(k string) bool { return k == "" })
	return fmt.Errorf("%q is none of %s", value, strings.Join(known, ", "))
}

// checkEndpoint wants a URL. A host and port alone would be taken for a scheme and a path.
func checkEndpoint(endpoint string) error {
	if endpoint == "" {
		return nil
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("%q is not a URL like http://localhost:4318", redact(endpoint))
	}
	return nil
}

// redact hides the password of a URL.
func redact(endpoint string) string {
	if u, err := url.Parse(endpoint); err == nil {
		return u.Redacted()
	}
	if _, host, ok := strings.Cut(endpoint, "@"); ok {
		return "…@" + host
	}
	return endpoint
}

// Redact returns e as it may be shown.
func (e Export) Redact() Export {
	for _, endpoint := range []*string{&e.Endpoint, &e.MetricsEndpoint, &e.TracesEndpoint} {
		*endpoint = redact(*endpoint)
	}
	return e
}

// pushesMetrics reports whether metrics are sent.
func (e *Export) pushesMetrics() bool {
	if len(e.Metrics) == 0 {
		return !e.Disabled && (e.Endpoint != "" || e.MetricsEndpoint != "")
	}
	return !e.Disabled && slices.Contains(e.Metrics, "otlp")
}

// Tracing reports whether traces are made and sent.
func (e *Export) Tracing() bool { return !e.Disabled && slices.Contains(e.Traces, "otlp") }

// metrics returns what sends metrics, by the variables that it reads itself. It connects to nobody
// yet.
func (e *Export) metrics(ctx context.Context) (sdkmetric.Exporter, error) {
	if cmp.Or(e.MetricsProtocol, e.Protocol) == overGRPC {
		return otlpmetricgrpc.New(ctx)
	}
	return otlpmetrichttp.New(ctx)
}

// traces does the same for traces.
func (e *Export) traces(ctx context.Context) (sdktrace.SpanExporter, error) {
	if cmp.Or(e.TracesProtocol, e.Protocol) == overGRPC {
		return otlptracegrpc.New(ctx)
	}
	return otlptracehttp.New(ctx)
}
