package statusz

import (
	"io"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/atlasmart/ordertally/internal/goldentest"
	"github.com/atlasmart/ordertally/internal/settings"
	"github.com/atlasmart/ordertally/internal/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// busy is a worker under load with a hard day behind it, and long names.
func busy() Page {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	p := Page{
		Program: "worker", Now: now, Started: now.Add(-26*time.Hour - 40*time.Minute),
		Build: telemetry.Build{Version: "v0.0.0-20261130120000-3f2a9c1d4e5f",
			Revision: "3f2a9c1d4e5f60718293a4b5c6d7e8f901234567", Go: "go1.26.8"},
		Ready: "counter: committing 200 orders to shard 3 of \"orders-today\": rpc error: " +
			"code = PermissionDenied desc = Missing or insufficient permissions.\n",
		Facts: []Fact{
			{"subscription", "projects/atlasmart-production/subscriptions/orders-accepted-worker"},
			{"counter", "orders-today, 10 shards, Asia/Tokyo"},
			{"messages in hand", "3988, the oldest published 4.2 s ago"},
			{"groups", "61.3 a second, 187 orders in each over the last minute"},
		},
		Tables: []Table{{Title: "Messages", Note: "Settled, a second.",
			Columns: []string{"result", "last 10\u00a0s", "last minute", "since the start"},
			Rows: [][]string{{"counted", "11462", "10988", "1048576000"},
				{"duplicate", "12.4", "8.02", "900123"}, {"ignored", "0", "0.03", "17"},
				{"dead_lettered", "0", "0", "2"}, {"nacked", "0", "0", "0"}}}},
		Notes: []telemetry.Note{
			{Severity: "ERROR", Message: "Firestore refuses an order", Times: 1,
				Time: now.Add(-3 * time.Second),
				Detail: "error: counting event 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c1" +
					"5b0f00a08: refused for good: rpc error: code = InvalidArgument desc = (see the log)"},
			{Severity: "WARNING", Message: "commit attempt went wrong, and is repeated", Times: 412,
				Time: now.Add(-95 * time.Minute), Detail: "error: <script>alert(1)</script>; shard: 3"},
		},
		Settings: []settings.Value{{Name: "GOOGLE_CLOUD_PROJECT", Text: "atlasmart-production"},
			{Name: "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"},
			{Name: "WORKER_KINDS", Text: "ORDER_ACCEPTED,order.accepted,com.atlasmart.order.accepted"},
			{Name: "WORKER_MARKER_TTL", Text: "840h0m0s"}},
	}
	lanes := Table{Title: "Lanes", Note: "One for each shard.", Columns: []string{"shard", "pending",
		"in work", "since the last commit", "pace", "orders in a group"}}
	for _, shard := range []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"} {
		lanes.Rows = append(lanes.Rows,
			[]string{shard, "142", "200", "1 min 31 s", "32.0/s", "187"})
	}
	p.Tables = append(p.Tables, lanes)
	return p
}

// quiet is a program that has just begun.
func quiet() Page {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	return Page{Program: "rollup", Now: now, Started: now.Add(-1500 * time.Millisecond),
		Build: telemetry.Build{Version: "(devel)", Revision: "unknown", Go: "go1.26.8"}}
}

func get(t *testing.T, p Page) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	Handler(func(time.Time) Page { return p }).ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	return w
}

func TestHandler(t *testing.T) {
	for name, p := range map[string]Page{"busy": busy(), "quiet": quiet()} {
		t.Run(name, func(t *testing.T) {
			goldentest.Compare(t, "testdata/"+name+".html", get(t, p).Body.String())
		})
	}
}

// TestHandler_alone wants the page to load nothing and to run nothing, whatever it shows.
func TestHandler_alone(t *testing.T) {
	w := get(t, busy())
	if got := w.Header().Get("Content-Security-Policy"); !strings.HasPrefix(got, "default-src 'none'") {
		t.Errorf("Content-Security-Policy: %q", got)
	}
	if got := w.Header().Get("Content-Type"); got != "text/html; charset=utf-8" {
		t.Errorf("Content-Type: %q", got)
	}
	body, _ := io.ReadAll(w.Body)
	for _, m := range regexp.MustCompile(`(?i)<script|(src|href)="[^"]*"|url\(|@import`).
		FindAllString(string(body), -1) {
		if m != `href="data:,"` {
			t.Errorf("the page has %s", m)
		}
	}
}

func TestWords(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for d, want := range map[time.Duration]string{
		-time.Second: "0 ms ago", 31 * time.Millisecond: "31 ms ago", 4200 * time.Millisecond: "4.2 s ago",
		59 * time.Second: "59 s ago", 95 * time.Second: "1 min 35 s ago",
		95 * time.Minute: "1 h 35 min ago", 50 * time.Hour: "2 d 2 h ago",
	} {
		if got := Ago(now, now.Add(-d)); got != want {
			t.Errorf("Ago of %v: %q, want %q", d, got, want)
		}
	}
	if got := Ago(now, time.Time{}); got != "never" {
		t.Errorf("Ago of no time: %q", got)
	}
	for r, want := range map[float64]string{0: "0", 0.033: "0.03", 12.44: "12.4", 11462.2: "11462"} {
		if got := Rate(r); got != want {
			t.Errorf("Rate(%v): %q, want %q", r, got, want)
		}
	}
}
