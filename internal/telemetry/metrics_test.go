package telemetry

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

func newMetrics(t *testing.T) *Metrics {
	t.Helper()
	m, err := NewMetrics()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return m
}

func scrape(t *testing.T, m *Metrics) []string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 {
		t.Fatalf("scraping: %d: %s", w.Code, w.Body)
	}
	return strings.Split(w.Body.String(), "\n")
}

// TestMetrics_names makes the instruments of all components as they do, and wants the names and
// types that the design promises to dashboards and alerts.
func TestMetrics_names(t *testing.T) {
	m := newMetrics(t)
	instruments := instruments{t, m.Meter()}
	instruments.counter("ordertally_messages")
	instruments.histogram("ordertally_commit", "s")
	instruments.histogram("ordertally_group_orders", "{order}")
	instruments.counter("ordertally_commits")
	instruments.gauge("ordertally_in_flight_messages", "{message}")
	instruments.histogram("ordertally_message_age", "s")
	instruments.counter("ordertally_receive_restarts")
	instruments.gauge("ordertally_rollup_total", "{order}")
	instruments.gauge("ordertally_rollup_lag", "s")
	instruments.gauge("ordertally_rollup_lag_orders", "{order}")
	instruments.gauge("ordertally_rollup_last_success_timestamp", "s")
	instruments.histogram("ordertally_rollup", "s")

	got := map[string]string{}
	for _, line := range scrape(t, m) {
		if f := strings.Fields(line); len(f) == 4 && f[1] == "TYPE" {
			if strings.HasPrefix(f[2], "ordertally_") {
				got[f[2]] = f[3]
			}
		}
	}
	want := map[string]string{
		"ordertally_build_info":                            "gauge",
		"ordertally_messages_total":                        "counter",
		"ordertally_commit_seconds":                        "histogram",
		"ordertally_group_orders":                          "histogram",
		"ordertally_commits_total":                         "counter",
		"ordertally_in_flight_messages":                    "gauge",
		"ordertally_message_age_seconds":                   "histogram",
		"ordertally_receive_restarts_total":                "counter",
		"ordertally_rollup_total":                          "gauge",
		"ordertally_rollup_lag_seconds":                    "gauge",
		"ordertally_rollup_lag_orders":                     "gauge",
		"ordertally_rollup_last_success_timestamp_seconds": "gauge",
		"ordertally_rollup_seconds":                        "histogram",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("exposed metrics (-want +got):\n%s", diff)
	}
}

type instruments struct {
	t     *testing.T
	meter metric.Meter
}

func (i instruments) counter(name string) {
	c, err := i.meter.Int64Counter(name)
	i.check(err)
	c.Add(i.t.Context(), 1)
}

func (i instruments) histogram(name, unit string) {
	h, err := i.meter.Float64Histogram(name, metric.WithUnit(unit))
	i.check(err)
	h.Record(i.t.Context(), 1)
}

func (i instruments) gauge(name, unit string) {
	g, err := i.meter.Float64Gauge(name, metric.WithUnit(unit))
	i.check(err)
	g.Record(i.t.Context(), 1)
}

func (i instruments) check(err error) {
	i.t.Helper()
	if err != nil {
		i.t.Fatal(err)
	}
}

// TestMetrics_otherKinds proves that the other kinds of instrument that a component may choose,
// and a name that has its suffix already, are exposed by the same names.
func TestMetrics_otherKinds(t *testing.T) {
	m := newMetrics(t)
	instruments := instruments{t, m.Meter()}
	instruments.histogram("ordertally_rollup_seconds", "s")
	upDown, err := m.Meter().Int64UpDownCounter("ordertally_in_flight_messages")
	instruments.check(err)
	upDown.Add(t.Context(), 2)
	_, err = m.Meter().Int64ObservableCounter("ordertally_rollup_total",
		metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error {
			o.Observe(40)
			return nil
		}))
	instruments.check(err)
	lines := scrape(t, m)
	contains(t, lines, "# TYPE ordertally_in_flight_messages gauge")
	contains(t, lines, "ordertally_in_flight_messages 2")
	contains(t, lines, "ordertally_rollup_total 40")
	contains(t, lines, "ordertally_rollup_seconds_count 1")
}

func contains(t *testing.T, lines []string, want string) {
	t.Helper()
	for _, line := range lines {
		if line == want {
			return
		}
	}
	t.Errorf("no line %q in:\n%s", want, strings.Join(lines, "\n"))
}

func TestMetrics_seriesHaveOnlyTheirOwnLabels(t *testing.T) {
	m := newMetrics(t)
	c, err := m.Meter().Int64Counter("ordertally_messages")
	if err != nil {
		t.Fatal(err)
	}
	c.Add(t.Context(), 3, metric.WithAttributes(attribute.String("result", "counted")))
	lines := scrape(t, m)
	contains(t, lines, `ordertally_messages_total{result="counted"} 3`)
	if strings.Contains(strings.Join(lines, "\n"), "target_info") {
		t.Error("target_info is exposed")
	}
}

func TestMetrics_runtime(t *testing.T) {
	got := strings.Join(scrape(t, newMetrics(t)), "\n")
	for _, want := range []string{"\ngo_goroutines ", "\nprocess_start_time_seconds ",
		"\nordertally_build_info{goversion=\"go"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}
}

// TestMetrics_notGlobal wants two programs in one process, as in tests, to keep apart.
func TestMetrics_notGlobal(t *testing.T) {
	a, b := newMetrics(t), newMetrics(t)
	instruments{t, a.Meter()}.counter("ordertally_messages")
	if got := strings.Join(scrape(t, b), "\n"); strings.Contains(got, "ordertally_messages") {
		t.Errorf("one's counter is exposed by the other:\n%s", got)
	}
}
