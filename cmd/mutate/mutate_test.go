package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/atlasmart/ordertally/internal/settings"
)

func TestParseMutants(t *testing.T) {
	got, err := parseMutants(`# How to read it.

name: drop it
why: because
file: a/b.go
test: ./a -run TestB
-	one()
-	two()
+	three()
`)
	want := []mutant{{name: "drop it", why: "because", file: "a/b.go",
		test: []string{"./a", "-run", "TestB"}, old: "\tone()\n\ttwo()\n", new: "\tthree()\n"}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(mutant{})); diff != "" || err != nil {
		t.Errorf("%v, mutants (-want +got):\n%s", err, diff)
	}
	for _, bad := range []string{"name: x\nwhy: y\nfile: z\ntest: .", "name: x\nhello"} {
		if _, err := parseMutants(bad); err == nil || !strings.Contains(err.Error(), `"x"`) {
			t.Errorf("%q: %v, want an error that names the mutant", bad, err)
		}
	}
}

func TestMutantsAreWellFormed(t *testing.T) {
	all, err := parseMutants(mutantsText)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir("../..")
	dir := t.TempDir()
	names := map[string]bool{}
	for _, m := range all {
		if names[m.name] {
			t.Errorf("two mutants are called %q", m.name)
		}
		names[m.name] = true
		if _, err := m.overlay(dir); err != nil {
			t.Errorf("%s applies no more: %v", m.name, err)
		}
	}
}

func TestJudge(t *testing.T) {
	for _, tt := range []struct {
		name, output string
		passed       bool
		want         verdict
	}{
		{"survived", "ok  \tpkg\t0.1s\n", true, verdict{survived: true, by: "no test noticed"}},
		{"killed by a part of a test", "--- FAIL: TestA (0.00s)\n    --- FAIL: TestA/b (0.00s)\n" +
			"        --- FAIL: TestA/b/c (0.00s)\n    --- FAIL: TestA/d (0.00s)\nFAIL\n", false,
			verdict{killed: true, by: "TestA/b/c"}},
		{"hung", "panic: test timed out after 1m30s\n\trunning tests:\n\t\tTestA (1m30s)\n", false,
			verdict{killed: true, by: "TestA, which hung"}},
		{"left a goroutine", "PASS\nafter the tests: found unexpected goroutines:\n", false,
			verdict{killed: true, by: "the search for goroutines after the tests"}},
		{"a panic in a goroutine", "panic: boom\n\ngoroutine 7 [running]:\n", false,
			verdict{killed: true, by: "a panic"}},
		{"no such test", "ok  \tpkg\t0.1s [no tests to run]\n", true,
			verdict{by: "no test was run"}},
		{"does not build", "FAIL\tpkg [build failed]\n", false,
			verdict{by: "does not build:\nFAIL\tpkg [build failed]\n"}},
	} {
		if got := judge(tt.output, tt.passed); got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

// TestTryAll tries mutants of a file on a tester that fails where the overlay says "bad".
func TestTryAll(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("a.go", []byte("package a\n// good\n// twice\n// twice\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	fails := func(_ context.Context, args ...string) (string, bool) {
		if args[0] != "-overlay" {
			return "ok", true
		}
		code, err := os.ReadFile(filepath.Join(filepath.Dir(args[1]), "mutant.go"))
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(code, []byte("bad")) {
			return "--- FAIL: TestGood (0.00s)\n", false
		}
		return "ok", true
	}
	m := func(name, old, new string) mutant {
		return mutant{name: name, file: "a.go", test: []string{"."}, old: old, new: new}
	}
	var out bytes.Buffer
	err := tryAll(t.Context(), &out, []mutant{m("one", "// good\n", "// bad\n"),
		m("two", "// good\n", ""), m("three", "// gone\n", ""), m("four", "// twice\n", "")}, fails)
	want := `killed    one: TestGood (0 s)
SURVIVED  two: no test noticed (0 s)
BROKEN    three: its lines are in the file 0 times, want once (0 s)
BROKEN    four: its lines are in the file 2 times, want once (0 s)
killed 1/4 in 0s
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
	if err == nil || err.Error() != "3 of 4 mutants were not killed" {
		t.Errorf("error %v", err)
	}
	err = tryAll(t.Context(), &out, []mutant{m("one", "// good\n", "")},
		func(context.Context, ...string) (string, bool) { return "a red test", false })
	if err == nil || !regexp.MustCompile("without a mutant:\na red test").MatchString(err.Error()) {
		t.Errorf("with a red test: %v", err)
	}
}

func TestRun(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), []string{"-list", "-run", "^drop the marker$"}, &out); err != nil ||
		!strings.HasPrefix(out.String(), "drop the marker (internal/counter/store.go)\n    ") {
		t.Errorf("-list: %v, %s", err, out.String())
	}
	for _, args := range [][]string{{"x"}, {"-run", "("}, {"-nope"}} {
		if err := run(t.Context(), args, &out); settings.ExitCode(err) != 2 {
			t.Errorf("%v: %v, want exit code 2", args, err)
		}
	}
}
