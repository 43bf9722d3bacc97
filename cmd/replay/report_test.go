package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/atlasmart/ordertally/internal/counter"
	"github.com/atlasmart/ordertally/internal/emulator/emulatortest"
	"github.com/atlasmart/ordertally/internal/goldentest"
	"github.com/atlasmart/ordertally/internal/settings"
)

var farFuture = time.Date(2300, 1, 1, 0, 0, 0, 0, time.UTC)

func TestMain(m *testing.M) { emulatortest.Main(m) }

func TestArguments(t *testing.T) {
	t.Setenv("GOOGLE_CLOUD_PROJECT", "p")
	for _, tt := range []struct{ args, want string }{
		{"", "-topic is required\n-file is required"},
		{"-topic t -file f.txt -times 0 -rate -1 -timeout 0s -settle -1s -counter a/b x",
			`unexpected arguments ["x"]
-file is "f.txt", want a .jsonl or a .csv
-times is 0, want 1 to 1000
-rate is -1, want 0 or more
-settle is -1s, want 0s or more
-timeout is 0s, want more than 0s
-counter: "a/b" is not a counter name: want 1 to 128 of A-Z a-z 0-9 . _ - other than . or .. or __…__
-topic: "t" is not a name: want NAME or projects/PROJECT/topics/NAME, NAME being a letter and 2 to 254 of letters, digits and - _ . ~ + %`},
		{"-topics t", "replay: flag provided but not defined: -topics"},
		{"-topic orders -file f.jsonl -rate NaN", "-rate is NaN, want 0 or more"},
		{"-topic orders -file f.jsonl -times", "replay: flag needs an argument: -times"},
	} {
		err := run(t.Context(), strings.Fields(tt.args), deps{})
		if err == nil {
			t.Fatalf("%s: no error", tt.args)
		}
		if diff := cmp.Diff(tt.want, err.Error()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.args, diff)
		}
		if code := settings.ExitCode(err); code != 2 {
			t.Errorf("%s: exit code %d, want 2", tt.args, code)
		}
	}
	var help bytes.Buffer
	if err := run(t.Context(), []string{"-h"}, deps{stderr: &help}); settings.ExitCode(err) != 0 ||
		!strings.HasPrefix(help.String(), "replay -topic") {
		t.Errorf("-h: %v, %q", err, help.String())
	}
}

func TestProgress(t *testing.T) {
	start := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	play := func(terminal bool) string {
		var b bytes.Buffer
		p := newProgress(&b, "published", 1000, start)
		p.terminal = terminal
		for _, ms := range []int64{50, 100, 150, 2000, 2050, 4000} {
			p.at(ms/5, start.Add(time.Duration(ms)*time.Millisecond))
		}
		p.at(700, start.Add(6*time.Second))  // an answer that comes late does not take it back
		p.at(1200, start.Add(8*time.Second)) // nor do strangers' orders lead beyond the end
		p.end(start.Add(8 * time.Second))
		return b.String()
	}
	golden(t, "progress-lines.txt", play(false))
	golden(t, "progress-bar.txt", strings.ReplaceAll(play(true), "\r", "\n"))
}

func TestReport(t *testing.T) {
	c := &config{counter: "orders-today", times: 2}
	orders := contents{orders: map[counter.EventID]dates{{1}: nil, {2}: nil, {3}: nil},
		copies: 1, ignored: 2, invalid: 1}
	r := newReport(c, 7, orders)
	r.ElapsedMs = 1234
	show := func(name string) {
		t.Helper()
		var people, program bytes.Buffer
		if err := r.write(&people); err != nil {
			t.Fatal(err)
		}
		if err := r.writeJSON(&program); err != nil {
			t.Fatal(err)
		}
		golden(t, name, people.String()+program.String()+fmt.Sprintln("error:", r.err()))
	}
	show("report-published.txt")
	a := &counter.AuditReport{OK: true, Markers: 3, Count: 3, Shards: []counter.AuditShard{
		{Shard: 0, Count: 2, Markers: 2}, {Shard: 1, Count: 1, Markers: 1}}}
	for day := range 12 {
		a.Days = append(a.Days, counter.AuditDay{Day: fmt.Sprintf("2026-11-%02d", day+1), Count: 1})
	}
	r.fill(3, a)
	r.judge(a)
	show("report-exact.txt")
	a.OK, a.Count, a.Shards[1].Count = false, 4, 2
	r.fill(3, a)
	r.Missing, r.wrongDays = 1, 2
	r.judge(a)
	show("report-off.txt")
}

// TestNoProject is about the variable that every program needs, beside another problem.
func TestNoProject(t *testing.T) {
	t.Setenv("GOOGLE_CLOUD_PROJECT", "") // puts it back after the test
	os.Unsetenv("GOOGLE_CLOUD_PROJECT")
	err := run(t.Context(), []string{"-topic", "t", "-file", "f.csv"}, deps{})
	if settings.ExitCode(err) != 2 {
		t.Fatalf("%v: exit code %d, want 2", err, settings.ExitCode(err))
	}
	want := "GOOGLE_CLOUD_PROJECT is required\n-topic: \"t\" is not a name: "
	if !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%q, want %q and more", err, want)
	}
}

// TestBadFile has no Pub/Sub to connect to: a bad file stops it before that.
func TestBadFile(t *testing.T) {
	t.Setenv("GOOGLE_CLOUD_PROJECT", "p")
	path := filepath.Join(t.TempDir(), "o.csv")
	if err := os.WriteFile(path, []byte("orderId,orderDate\na,2026-11-30\nb,x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		path:         "o.csv: line 3: \"x\" is no date like 1996-07-04 and no RFC 3339 time",
		"none.jsonl": "reading orders: open none.jsonl: no such file or directory",
	} {
		err := run(t.Context(), []string{"-topic", "orders", "-file", file}, deps{})
		if settings.ExitCode(err) != 1 || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v, want exit code 1 and %q", file, err, want)
		}
	}
}

// golden compares got with a file below testdata, or rewrites the file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	goldentest.Compare(t, filepath.Join("testdata", name), got)
}
