package telemetry

import (
	"context"
	"fmt"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
)

// Metrics are the instruments of one program and their exposition to Prometheus.
//
// An instrument's name gets its unit and, for a counter, "total" appended: a counter
// ordertally_commits is exposed as ordertally_commits_total, a histogram ordertally_commit with
// the unit s as ordertally_commit_seconds.
type Metrics struct {
	registry *prometheus.Registry
	provider *sdkmetric.MeterProvider
}

// NewMetrics returns metrics that hold the Go runtime's, the process's and the build's own. What
// else reads the instruments is among opts.
func NewMetrics(opts ...sdkmetric.Option) (*Metrics, error) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), buildInfo(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	// Scope and target labels would come with every series, and say the same on each.
	exporter, err := otelprometheus.New(otelprometheus.WithRegisterer(registry),
		otelprometheus.WithoutScopeInfo(), otelprometheus.WithoutTargetInfo())
	if err != nil {
		return nil, fmt.Errorf("making the Prometheus exporter: %w", err)
	}
	opts = append(opts, sdkmetric.WithReader(exporter))
	return &Metrics{registry, sdkmetric.NewMeterProvider(opts...)}, nil
}

// Meter makes the instruments of all components.
func (m *Metrics) Meter() metric.Meter {
	return m.provider.Meter("github.com/atlasmart/ordertally")
}

// Handler answers scrapes. What one collector cannot give does not hide what the others can.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry,
		promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
}

// Shutdown ends the collection: later scrapes hold nothing of the meter's.
func (m *Metrics) Shutdown(ctx context.Context) error {
	if err := m.provider.Shutdown(ctx); err != nil {
		return fmt.Errorf("shutting the metrics down: %w", err)
	}
	return nil
}

// buildInfo is always 1; its labels say which build this is, for a graph of a deployment.
func buildInfo() prometheus.Collector {
	build := ReadBuild()
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "ordertally_build_info",
		Help: "1, with the build in its labels.",
		ConstLabels: prometheus.Labels{"version": build.Version, "revision": build.Revision,
			"goversion": build.Go},
	}, func() float64 { return 1 })
}
