package telemetrytest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/atlasmart/ordertally/internal/goldentest"
)

// closed are the labels whose values are a set that is known beforehand, and exposed from the start.
var closed = []string{"result", "outcome", "code"}

// Golden compares the metrics in a scrape with a file, or rewrites the file: a line for each, with
// its name, its type and its labels, and the values of those that are closed. The files of both
// programs are what deploy's test holds the alerts and the dashboard to. What the Go runtime says
// of itself is left out.
func Golden(t testing.TB, scrape, path string) {
	t.Helper()
	goldentest.Compare(t, path, exposed(t, scrape))
}

func exposed(t testing.TB, scrape string) string {
	t.Helper()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(scrape))
	if err != nil {
		t.Fatalf("reading a scrape: %v", err)
	}
	var lines strings.Builder
	for _, name := range slices.Sorted(maps.Keys(families)) {
		if strings.HasPrefix(name, "ordertally_") || name == "process_start_time_seconds" {
			f := families[name]
			fmt.Fprintf(&lines, "%s %s %s\n", name, strings.ToLower(f.GetType().String()), labels(f))
		}
	}
	return lines.String()
}

func labels(f *dto.MetricFamily) string {
	values := map[string]map[string]bool{}
	for _, m := range f.Metric {
		for _, l := range m.Label {
			if values[l.GetName()] == nil {
				values[l.GetName()] = map[string]bool{}
			}
			values[l.GetName()][l.GetValue()] = true
		}
	}
	var labels []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if slices.Contains(closed, name) {
			name += "=" + strings.Join(slices.Sorted(maps.Keys(values[name])), "|")
		}
		labels = append(labels, name)
	}
	return "{" + strings.Join(labels, ",") + "}"
}
