package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/api/option"

	"github.com/atlasmart/ordertally/internal/counter"
	"github.com/atlasmart/ordertally/internal/emulator/emulatortest"
	"github.com/atlasmart/ordertally/internal/goldentest"
	"github.com/atlasmart/ordertally/internal/settings"
)

func TestMain(m *testing.M) { emulatortest.Main(m) }

// invoke runs the program and returns what it wrote and its exit code.
func invoke(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	return invokeOn(t, nil, args...)
}

// invokeOn does so on a Firestore that is connected to by opts.
func invokeOn(
	t *testing.T, opts []option.ClientOption, args ...string,
) (stdout, stderr string, code int) {
	t.Helper()
	var out, logs bytes.Buffer
	err := run(t.Context(), args, deps{stdout: &out, stderr: &logs, firestore: opts})
	stderr = logs.String()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		stderr += err.Error()
	}
	return out.String(), stderr, settings.ExitCode(err)
}

// counted gives the test a project with a counter of n orders in it.
func counted(t *testing.T, n int) *firestore.Client {
	t.Helper()
	env := emulatortest.New(t)
	client := env.Firestore()
	env.Setenv()
	def, _, err := counter.Define(t.Context(), client, "orders-today",
		counter.Definition{Shards: 3, Location: time.UTC})
	if err != nil {
		t.Fatal(err)
	}
	c, err := counter.New(client, "orders-today", def, counter.Options{GroupMax: 100,
		MarkerTTL: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for i := range n {
		o := counter.Order{ID: fmt.Sprint("ord-", i), AcceptedAt: time.Now()}
		if _, err := c.Add(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	return client
}

func TestArguments(t *testing.T) {
	t.Setenv("GOOGLE_CLOUD_PROJECT", "p")
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"shout"}, `rollup has no command "shout"`},
		{[]string{"show", "-xml"}, "rollup show: flag provided but not defined: -xml"},
		{[]string{"show", "me"}, `rollup show: unexpected argument "me"`},
		{[]string{"-json"}, "rollup: flag provided but not defined: -json"},
		{[]string{"check"}, "rollup check: want a -max-age of more than 0, such as -max-age 5m"},
		{[]string{"check", "-max-age", "-5m"}, "rollup check: want a -max-age of more than 0, such as -max-age 5m"},
		{[]string{"check", "-max-age", "soon"},
			`rollup check: invalid value "soon" for flag -max-age: parse error`},
		{[]string{"audit", "now"}, `rollup audit: unexpected argument "now"`},
		{[]string{"audit", "-timeout", "0s"},
			"rollup audit: want a -timeout of more than 0, such as -timeout 20s"},
		{[]string{"-timeout", "1"}, `rollup: invalid value "1" for flag -timeout: parse error`},
		{[]string{"reshard"}, "rollup reshard: want -shards N, -fold or both"},
		{[]string{"reshard", "-shards", "0"}, "rollup reshard: want -shards 1 to 1000, got 0"},
		{[]string{"reshard", "-shards", "1001", "-fold"},
			"rollup reshard: want -shards 1 to 1000, got 1001"},
		{[]string{"reshard", "-shards", "ten"},
			`rollup reshard: invalid value "ten" for flag -shards: parse error`},
		{[]string{"reshard", "-shards", "3", "7"}, `rollup reshard: unexpected argument "7"`},
	} {
		t.Run(strings.Join(tt.args, " "), func(t *testing.T) {
			stdout, stderr, code := invoke(t, tt.args...)
			want := tt.want + "\nrollup -h shows how it is used"
			if stderr != want || code != 2 || stdout != "" {
				t.Errorf("%q and exit code %d, want %q and 2", stderr, code, want)
			}
		})
	}
	if _, stderr, code := invoke(t, "-h"); code != 0 || !strings.Contains(stderr, "rollup show") {
		t.Errorf("-h: %q and exit code %d", stderr, code)
	}
}

func TestBadSettings(t *testing.T) {
	t.Setenv("GOOGLE_CLOUD_PROJECT", "")
	t.Setenv("ROLLUP_COUNTER", "..")
	t.Setenv("ROLLUP_EVERY", "10ms")
	t.Setenv("ROLLUP_EVER", "1m")
	t.Setenv("ROLLUP_AUDIT_EVERY", "1s")
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "udp")
	want := "GOOGLE_CLOUD_PROJECT is set but empty\n" +
		`ROLLUP_COUNTER: ".." is not a counter name: want 1 to 128 of A-Z a-z 0-9 . _ - ` +
		"other than . or .. or __…__\n" +
		"ROLLUP_EVERY: want 0 or at least 1s, got 10ms\n" +
		"ROLLUP_AUDIT_EVERY: want 0 or at least 1m0s, got 1s\n" +
		"OTEL_EXPORTER_OTLP_PROTOCOL: \"udp\" is none of grpc, http/protobuf\n" +
		"ROLLUP_EVER is unknown (did you mean ROLLUP_EVERY?)"
	_, stderr, code := invoke(t)
	if diff := cmp.Diff(want, stderr); diff != "" || code != 2 {
		t.Errorf("exit code %d, problems (-want +got):\n%s", code, diff)
	}
}

func TestAuditsWithoutALoop(t *testing.T) {
	t.Setenv("GOOGLE_CLOUD_PROJECT", "p")
	t.Setenv("ROLLUP_AUDIT_EVERY", "1h")
	const want = "ROLLUP_AUDIT_EVERY: audits only a rollup that repeats: set ROLLUP_EVERY too"
	if _, stderr, code := invoke(t); stderr != want || code != 2 {
		t.Errorf("%q and exit code %d, want %q and 2", stderr, code, want)
	}
}

// TestCommands goes through a counter's life as an operator sees it.
func TestCommands(t *testing.T) {
	client := counted(t, 12)
	_, stderr, code := invoke(t, "check", "-max-age", "5m")
	if code != 1 || stderr != `the counter was never rolled up: "orders-today"` {
		t.Errorf("check before the first rollup: %q and exit code %d", stderr, code)
	}
	if v := showJSON(t); v["asOf"] != nil || v["ageMs"] != nil || v["exact"] != 12.0 {
		t.Errorf("show before the first rollup: %v", v)
	}
	if _, stderr, code := invoke(t); code != 0 {
		t.Fatalf("rollup: %s", stderr)
	}
	if _, stderr, code := invoke(t, "check", "-max-age", "5m"); code != 0 {
		t.Errorf("check after it: %s", stderr)
	}
	_, stderr, code = invoke(t, "check", "-max-age", "1ms")
	if code != 1 || !strings.HasPrefix(stderr, "orders-today is stale: rolled up as of ") {
		t.Errorf("check with 1ms: %q and exit code %d", stderr, code)
	}
	v := showJSON(t)
	for name, want := range map[string]any{"counter": "orders-today", "total": 12.0,
		"exact": 12.0, "numShards": 3.0, "lagMs": 0.0, "lagEvents": 0.0} {
		if v[name] != want {
			t.Errorf("show: %s is %v, want %v", name, v[name], want)
		}
	}
	if stdout, stderr, code := invoke(t, "audit"); code != 0 {
		t.Errorf("audit: %s%s", stdout, stderr)
	}
	_, err := client.Doc("counters/orders-today/shards/1").Update(t.Context(),
		[]firestore.Update{{Path: "count", Value: firestore.Increment(1)}})
	if err != nil {
		t.Fatal(err)
	}
	stdout, stderr, code := invoke(t, "audit", "-json")
	var a counter.AuditReport
	if err := json.Unmarshal([]byte(stdout), &a); err != nil {
		t.Fatal(err)
	}
	if code != 1 || a.OK || a.Drift != 1 || a.Shards[1].Drift != 1 ||
		stderr != "orders-today has drifted: 12 markers, and the shards sum to 13; shard 1 by +1" {
		t.Errorf("audit with a shard that was changed: %q, exit code %d, %+v", stderr, code, a)
	}
}

// TestReshard goes down from three shards to one, folds, and goes up again.
func TestReshard(t *testing.T) {
	client := counted(t, 30)
	wants := func(want string, args ...string) {
		t.Helper()
		stdout, stderr, code := invoke(t, args...)
		if code != 0 || !strings.HasPrefix(stdout, want) {
			t.Errorf("%v: exit code %d, %s, and\n%s\nwant\n%s", args, code, stderr, stdout, want)
		}
	}
	wants("orders-today has 1 shard now, and had 3; running workers follow within 30s\n"+
		"the other shards count on; ", "reshard", "-shards", "1")
	wants("orders-today has 1 shard already\n", "reshard", "-shards", "1")
	if v := showJSON(t); v["exact"] != 30.0 || len(v["shards"].([]any)) != 3 {
		t.Errorf("before the fold: %v", v)
	}
	wants("shard 1 folded into 0: ", "reshard", "-fold")
	wants("folded 0 shards, 0 orders\n", "reshard", "-fold")
	if v := showJSON(t); v["exact"] != 30.0 || len(v["shards"].([]any)) != 1 {
		t.Errorf("after the fold: %v", v)
	}
	wants(`{"counter":"orders-today","from":1,"to":5,"folded":[]}`, "reshard", "-shards", "5",
		"-fold", "-json")
	snaps, err := client.Collection("counters/orders-today/reshards").Documents(t.Context()).GetAll()
	if err != nil || len(snaps) != 2 {
		t.Fatalf("%d records, %v, want 2", len(snaps), err)
	}
	if by, _ := snaps[0].Data()["by"].(string); !strings.Contains(by, "@") {
		t.Errorf("recorded as by %q, want who@where", by)
	}
}

func TestScrapeLanes(t *testing.T) {
	var body string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if body == "" {
			http.Error(w, "not yet", http.StatusServiceUnavailable)
		}
		fmt.Fprint(w, body)
	}))
	defer server.Close()
	if _, err := scrapeLanes(t.Context(), server.URL, "c"); err == nil ||
		!strings.Contains(err.Error(), "503") {
		t.Errorf("a worker that is not ready: %v", err)
	}
	body = `# TYPE ordertally_commits_total counter
ordertally_commits_total{counter="c",outcome="ok",shard="0"} 7
ordertally_commits_total{counter="c",outcome="contended",shard="0"} 2
ordertally_commits_total{counter="c",outcome="duplicate",shard="0"} 5
ordertally_commits_total{counter="c",outcome="ok",shard="3"} 1
ordertally_commits_total{counter="other",outcome="ok",shard="3"} 9
`
	got, err := scrapeLanes(t.Context(), server.URL, "c")
	want := map[int]laneView{0: {Commits: 7, Contended: 2}, 3: {Commits: 1}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v, lanes (-want +got):\n%s", err, diff)
	}
	http.DefaultClient.CloseIdleConnections()
}

func showJSON(t *testing.T) map[string]any {
	t.Helper()
	stdout, stderr, code := invoke(t, "show", "-json")
	var v map[string]any
	if err := json.Unmarshal([]byte(stdout), &v); err != nil || code != 0 {
		t.Fatalf("show -json: %q, %s, %v", stdout, stderr, err)
	}
	return v
}

func TestRepeat(t *testing.T) {
	client := counted(t, 5)
	t.Setenv("ROLLUP_EVERY", "1s")
	t.Setenv("ROLLUP_AUDIT_EVERY", "1m")
	addr := emulatortest.FreeAddr(t)
	t.Setenv("ROLLUP_LISTEN", addr)
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
	defer stop()
	done := make(chan error, 1)
	go func() { done <- run(ctx, nil, deps{stdout: os.Stdout, stderr: &bytes.Buffer{}}) }()
	it := client.Doc("counters/orders-today").Snapshots(ctx)
	defer it.Stop()
	seen := map[time.Time]bool{}
	for len(seen) < 2 {
		snap, err := it.Next()
		if err != nil {
			t.Fatalf("seen %d rollups: %v", len(seen), err)
		}
		if at, ok := snap.Data()["rollupAsOf"].(time.Time); ok {
			seen[at] = true
		}
	}
	wantShown(t, ctx, addr)
	stop()
	if err := <-done; err != nil {
		t.Errorf("stopped with %v, want nil", err)
	}
}

func TestGolden(t *testing.T) {
	noon := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	r := &counter.Reading{
		Counter:    "orders-today",
		Definition: counter.Definition{Shards: 4, Location: time.UTC},
		ReadTime:   noon,
		Shards: []counter.Shard{{Number: 0, Count: 250}, {Number: 1, Count: 1000},
			{Number: 2, Count: 1}, {Number: 7, Count: 0}},
	}
	golden(t, "show-never.txt", func(b *bytes.Buffer) error { return newView(r).write(b, false) })
	r.Rollup = counter.Rollup{Total: 1200, Today: counter.DayTotal{Day: "2026-11-30", Total: 80},
		AsOf: noon, At: noon, Shards: 3}
	golden(t, "show-first.txt", func(b *bytes.Buffer) error { return newView(r).write(b, false) })
	r.Rollup = counter.Rollup{Total: 1200, Today: counter.DayTotal{Day: "2026-11-30", Total: 80},
		AsOf: noon.Add(-90 * time.Second), At: noon.Add(-89 * time.Second), LagMs: 60_250,
		LagEvents: 31, Shards: 3}
	golden(t, "show.txt", func(b *bytes.Buffer) error { return newView(r).write(b, false) })
	golden(t, "show-colors.txt", func(b *bytes.Buffer) error { return newView(r).write(b, true) })
	golden(t, "show.json", func(b *bytes.Buffer) error { return writeJSON(b, newView(r)) })
	v := newView(r)
	v.addLanes(map[int]laneView{0: {Commits: 3}, 1: {Commits: 9, Contended: 1}, 5: {Commits: 1}})
	golden(t, "show-worker.txt", func(b *bytes.Buffer) error { return v.write(b, false) })
	golden(t, "show-worker.json", func(b *bytes.Buffer) error { return writeJSON(b, v) })
	w := reshardView{Counter: "orders-today", From: 10, To: 3}
	golden(t, "reshard.txt", func(b *bytes.Buffer) error { return w.write(b) })
	w = reshardView{Counter: "orders-today", From: 4, To: 3, fold: true,
		Folded: []counter.Folded{{Shard: 3, Into: 0, Count: 120}, {Shard: 7, Into: 1, Count: 1}}}
	golden(t, "reshard-fold.txt", func(b *bytes.Buffer) error { return w.write(b) })
	golden(t, "reshard.json", func(b *bytes.Buffer) error { return writeJSON(b, w) })
	a := &counter.AuditReport{Counter: "orders-today", ReadTime: noon, Markers: 1249, Count: 1250,
		Drift: 1, Shards: []counter.AuditShard{{Shard: 0, Markers: 249, Count: 250, Drift: 1},
			{Shard: 1, Markers: 1000, Count: 1000}},
		Days: []counter.AuditDay{{Day: "2026-11-29", Markers: 1000, Count: 1000},
			{Day: "2026-11-30", Markers: 249, Count: 250, Drift: 1}}}
	golden(t, "audit.txt", func(b *bytes.Buffer) error { return writeAudit(b, a) })
	golden(t, "audit.json", func(b *bytes.Buffer) error { return writeJSON(b, a) })
	sealed := noon.Add(-time.Hour)
	a.Sealed, a.SealedTo, a.Unknown, a.Strays, a.Expired = 900, &sealed, 3, 2, 40
	a.Shards = append(a.Shards, counter.AuditShard{Shard: 9, Markers: 7, Count: 7, Beyond: true})
	golden(t, "audit-notes.txt", func(b *bytes.Buffer) error { return writeAudit(b, a) })
	golden(t, "repair.txt", func(b *bytes.Buffer) error {
		writePlan(b, "orders-today", &counter.Repair{Shards: []counter.ShardRepair{
			{Shard: 0, Count: -1, Days: map[string]int64{"2026-11-30": -2, "2026-11-29": 1}},
			{Shard: 4, Days: map[string]int64{"2026-11-30": 1}}}})
		return nil
	})
	l := &counter.Listing{Counter: "orders-today", Orders: []counter.CountedOrder{
		{Event: "ab", ID: "ord-1", Day: "2026-11-30", Shard: 3, AcceptedAt: sealed, CreatedAt: noon,
			ExpireAt: noon, MessageID: "7"},
		{Event: "cd", ID: "clear\x1b[2J", Source: "legacy-erp", Day: "2026-11-30", AcceptedAt: sealed,
			CreatedAt: noon}}, Next: "TOKEN"}
	golden(t, "recent.txt", func(b *bytes.Buffer) error { return writeListing(b, l) })
	golden(t, "recent.json", func(b *bytes.Buffer) error { return writeJSON(b, l) })
}

// golden compares what f writes with a file below testdata, or rewrites the file.
func golden(t *testing.T, name string, f func(*bytes.Buffer) error) {
	t.Helper()
	var got bytes.Buffer
	if err := f(&got); err != nil {
		t.Fatal(err)
	}
	goldentest.Compare(t, filepath.Join("testdata", name), got.String())
}
