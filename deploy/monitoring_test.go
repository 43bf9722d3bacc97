package deploy

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

// A rule is one alert of prometheus/alerts.yaml.
type rule struct {
	Alert, Expr         string
	Labels, Annotations map[string]string
}

func readRules(t *testing.T) (rules []rule) {
	t.Helper()
	raw, err := os.ReadFile("prometheus/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Groups []struct {
			Name  string
			Rules []rule
		}
	}
	if err := yaml.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	for _, g := range file.Groups {
		rules = append(rules, g.Rules...)
	}
	return rules
}

// TestAlerts wants the alerts that the runbook explains, each with what a person needs at once.
func TestAlerts(t *testing.T) {
	const link = "https://github.com/atlasmart/ordertally/blob/main/docs/runbook.md#"
	names := map[string]bool{}
	for _, r := range readRules(t) {
		names[r.Alert] = true
		for _, text := range []string{"summary", "description"} {
			if strings.TrimSpace(r.Annotations[text]) == "" {
				t.Errorf("%s has no %s", r.Alert, text)
			}
		}
		if got, want := r.Annotations["runbook_url"], link+strings.ToLower(r.Alert); got != want {
			t.Errorf("%s leads to %s, want %s", r.Alert, got, want)
		}
		if s := r.Labels["severity"]; s != "page" && s != "ticket" {
			t.Errorf("%s is of severity %q, want page or ticket", r.Alert, s)
		}
	}
	if diff := cmp.Diff(slices.Sorted(slices.Values(alertNames)), slices.Sorted(maps.Keys(names))); diff != "" {
		t.Errorf("alerts (-want +got):\n%s", diff)
	}
}

// A metric is what a program exposes: its labels, and the values of those whose values are known
// beforehand (nil: any).
type metric map[string][]string

// exposed returns the metrics of both programs, from the files that their own tests hold to what
// they expose. A histogram's parts count as metrics.
func exposed(t *testing.T) map[string]metric {
	t.Helper()
	all := map[string]metric{}
	for _, program := range []string{"worker", "rollup"} {
		raw, err := os.ReadFile(filepath.Join("../cmd", program, "testdata/metrics.txt"))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(raw)) {
			f := strings.Fields(line) // name, type, {label,label=value|value}
			m := metric{"job": nil, "instance": nil}
			for label := range strings.SplitSeq(strings.Trim(f[2], "{}"), ",") {
				name, values, known := strings.Cut(label, "=")
				m[name] = nil
				if known {
					m[name] = strings.Split(values, "|")
				}
			}
			all[f[0]] = m
			if f[1] == "histogram" {
				bucket := maps.Clone(m)
				bucket["le"] = nil
				delete(all, f[0])
				all[f[0]+"_bucket"], all[f[0]+"_sum"], all[f[0]+"_count"] = bucket, m, m
			}
		}
	}
	return all
}

var (
	selector = regexp.MustCompile(`\b((?:ordertally|process)_[a-z_]+)(?:\{([^}]*)\})?`)
	matcher  = regexp.MustCompile(`([a-z]+)\s*(=~|!~|!=|=)\s*"([^"]*)"`)
	grouping = regexp.MustCompile(`\bby \(([^)]*)\)`)
)

// problems returns what an expression asks for and neither program exposes.
func problems(expr string, known map[string]metric) (problems []string) {
	labels := map[string]bool{}
	for _, s := range selector.FindAllStringSubmatch(expr, -1) {
		m, ok := known[s[1]]
		if !ok {
			problems = append(problems, "no metric "+s[1])
			continue
		}
		for label := range m {
			labels[label] = true
		}
		for _, match := range matcher.FindAllStringSubmatch(s[2], -1) {
			values, ok := m[match[1]]
			if !ok {
				problems = append(problems, s[1]+" has no label "+match[1])
			}
			for value := range strings.SplitSeq(match[3], "|") {
				if values != nil && !slices.Contains(values, value) {
					problems = append(problems, s[1]+" has no "+match[1]+" "+value)
				}
			}
		}
	}
	for _, g := range grouping.FindAllStringSubmatch(expr, -1) {
		for label := range strings.SplitSeq(g[1], ",") {
			if label = strings.TrimSpace(label); !labels[label] {
				problems = append(problems, "nothing has a label "+label)
			}
		}
	}
	return problems
}

func TestProblems(t *testing.T) {
	known := exposed(t)
	for expr, want := range map[string][]string{
		`sum(rate(ordertally_message_total[5m]))`:                       {"no metric ordertally_message_total"},
		`ordertally_commit_seconds > 1`:                                 {"no metric ordertally_commit_seconds"},
		`ordertally_messages_total{result="dead-lettered"}`:             {"ordertally_messages_total has no result dead-lettered"},
		`ordertally_messages_total{shard="3"}`:                          {"ordertally_messages_total has no label shard"},
		`sum by (le, lane) (rate(ordertally_commit_seconds_bucket))`:    {"nothing has a label lane"},
		`sum by (job) (ordertally_commits_total{outcome=~"ok|failed"})`: nil,
	} {
		if diff := cmp.Diff(want, problems(expr, known)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", expr, diff)
		}
	}
}

// TestMetricsExist wants every metric, label and value of the alerts and of the dashboard to be
// one that a program exposes.
func TestMetricsExist(t *testing.T) {
	known := exposed(t)
	exprs := dashboard(t)
	for _, r := range readRules(t) {
		exprs[r.Alert+": "+r.Expr] = r.Expr
	}
	for where, expr := range exprs {
		for _, p := range problems(expr, known) {
			t.Errorf("%s: %s", where, p)
		}
		if !selector.MatchString(expr) {
			t.Errorf("%s: %s asks for no metric of ours", where, expr)
		}
	}
}

// TestDashboard wants the panels to have a place and a unit of their own, and every metric of the
// design to be on one.
func TestDashboard(t *testing.T) {
	all := strings.Join(slices.Collect(maps.Values(dashboard(t))), "\n")
	for name := range exposed(t) {
		histogram := strings.TrimSuffix(strings.TrimSuffix(name, "_sum"), "_count")
		if !strings.Contains(all, name) && !strings.Contains(all, histogram+"_bucket") &&
			name != "ordertally_audit_last_success_timestamp_seconds" { // an alert is enough
			t.Errorf("no panel shows %s", name)
		}
	}
}

// dashboard returns the queries of the dashboard by their panels.
func dashboard(t *testing.T) map[string]string {
	t.Helper()
	raw, err := os.ReadFile("grafana/ordertally.json")
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Title, UID string
		Panels     []struct {
			ID                      int
			Title, Type             string
			GridPos                 struct{ X, Y, W, H int }
			Targets                 []struct{ Expr string }
			Datasource, FieldConfig any
		}
	}
	if err := json.Unmarshal(raw, &board); err != nil {
		t.Fatal(err)
	}
	exprs := map[string]string{}
	taken := map[[2]int]string{}
	for _, p := range board.Panels {
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" || x >= 24 {
					t.Fatalf("the panels %q and %q overlap, or leave the grid", p.Title, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
		for i, target := range p.Targets {
			exprs[p.Title+" "+string(rune('A'+i))] = target.Expr
		}
		if p.Type != "row" && (len(p.Targets) == 0 || p.FieldConfig == nil || p.Datasource == nil) {
			t.Errorf("the panel %q shows nothing", p.Title)
		}
	}
	if board.UID == "" || board.Title == "" {
		t.Error("the dashboard has no uid or no title")
	}
	return exprs
}

// TestPromtool has Prometheus's own tool check the rules, run what alerts_test.yaml expects of
// them, and parse the dashboard's queries.
func TestPromtool(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("no promtool on PATH (Debian: apt-get install prometheus): the alerts were not " +
			"evaluated, only their metrics were looked up")
	}
	queries := filepath.Join(t.TempDir(), "queries.yaml")
	if err := os.WriteFile(queries, recordings(t), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"check", "rules", "prometheus/alerts.yaml"},
		{"test", "rules", "prometheus/alerts_test.yaml"},
		{"check", "rules", queries},
	} {
		if out, err := exec.CommandContext(t.Context(), promtool, args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v\n%s", args, err, out)
		}
	}
}

// recordings makes rules of the dashboard's queries, with what Grafana fills in.
func recordings(t *testing.T) []byte {
	t.Helper()
	type recording struct{ Record, Expr string }
	var rules []recording
	fill := strings.NewReplacer("$__rate_interval", "5m", "$job", ".*")
	exprs := dashboard(t)
	for i, where := range slices.Sorted(maps.Keys(exprs)) {
		rules = append(rules, recording{"panel:" + strings.Repeat("x", i+1), fill.Replace(exprs[where])})
	}
	raw, err := yaml.Marshal(map[string]any{"groups": []any{
		map[string]any{"name": "dashboard", "rules": rules}}})
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
