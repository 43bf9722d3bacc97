package settings

import (
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// FuzzLoad sets one variable to anything. Either each field is within its range, or exactly one
// line names that variable.
func FuzzLoad(f *testing.F) {
	for _, seed := range [][2]string{
		{"COUNTER", "orders"}, {"SHARDS", "010"}, {"GROUP_MAX", "451"}, {"KINDS", "a,,b"},
		{"MARKER_TTL", "2540400h10m10.000000000s"}, {"GROUP_LINGER", "-1ns"}, {"TRACE", "T"},
		{"GROUP_MAX", "1"},
		{"LISTEN", ""}, {"LOW", "-9223372036854775809"}, {"SHIFT", "-1h"}, {"PORT_1_TCP", ""},
		{"A\"\n", "\xff"}, {"", "1"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, suffix, value string) {
		name := "WORKER_" + suffix
		setenv(t, map[string]string{"GOOGLE_CLOUD_PROJECT": "demo"})
		if os.Setenv(name, value) != nil {
			t.Skip("not a variable")
		}
		_, w, err := load()
		if err != nil {
			checkProblem(t, err, name)
			return
		}
		checkRanges(t, w)
	})
}

func checkProblem(t *testing.T, err error, name string) {
	t.Helper()
	problems, ok := err.(Problems)
	if !ok || len(problems) != 1 {
		t.Fatalf("Load(%q) = %v, want one problem", name, err)
	}
	line := problems[0]
	names := strings.HasPrefix(line, printable(name)+" ")
	if line == contradiction {
		names = strings.HasSuffix(name, "_SHARDS") || strings.HasSuffix(name, "_GROUP_MAX")
	}
	if !names {
		t.Errorf("%q does not name %q", line, name)
	}
	if strings.Contains(line, "\n") || !utf8.ValidString(line) {
		t.Errorf("%q is not one line of text", line)
	}
}

func checkRanges(t *testing.T, w worker) {
	t.Helper()
	for name, ok := range map[string]bool{
		"COUNTER":           w.Counter != "" && plain(w.Counter),
		"LISTEN":            plain(w.Listen),
		"SHARDS":            w.Shards >= 1,
		"KINDS":             len(w.Kinds) > 0,
		"DEAD_LETTER_TOPIC": plain(w.Topic),
		"MARKER_TTL":        w.MarkerTTL >= 0,
		"GROUP_MAX":         w.GroupMax >= 1 && w.GroupMax <= 450,
		"GROUP_LINGER":      w.Linger >= 0 && w.Linger <= time.Second,
		"SHIFT":             w.Shift >= -24*time.Hour,
		"LOW":               w.Low <= 3,
	} {
		if !ok {
			t.Errorf("%s is out of its range: %+v", name, w)
		}
	}
	for _, kind := range w.Kinds {
		if kind == "" || !plain(kind) {
			t.Errorf("kind %q", kind)
		}
	}
}
