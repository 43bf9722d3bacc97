package main

import (
	"context"
	"os/exec"
	"regexp"
	"strings"
)

// testTimeout bounds the tests of one mutant: one that hangs is killed by it.
const testTimeout = "90s"

// goTest is the tester of the program. The tests stop at the first failure; vet is off, since a
// mutant has to be killed by a test.
func goTest(ctx context.Context, args ...string) (output string, passed bool) {
	args = append([]string{"test", "-failfast", "-vet=off", "-timeout", testTimeout}, args...)
	out, err := exec.CommandContext(ctx, "go", args...).CombinedOutput()
	return string(out), err == nil
}

// A verdict says what became of a mutant, and by what.
type verdict struct {
	killed, survived bool // neither: it could not be tried
	by               string
}

func (v verdict) word() string {
	switch {
	case v.killed:
		return "killed"
	case v.survived:
		return "SURVIVED"
	}
	return "BROKEN"
}

var (
	failure = regexp.MustCompile(`(?m)^ *--- FAIL: (\S+)`)
	running = regexp.MustCompile(`running tests:\n\s+(\S+)`)
)

// judge reads go test's output. A mutant that does not build, or that no test has looked at, is
// neither killed nor has it survived.
func judge(output string, passed bool) verdict {
	switch {
	case strings.Contains(output, "[build failed]"), strings.Contains(output, "[setup failed]"):
		return verdict{by: "does not build:\n" + output}
	case strings.Contains(output, "[no tests to run]"), strings.Contains(output, "[no test files]"):
		return verdict{by: "no test was run"}
	case passed:
		return verdict{survived: true, by: "no test noticed"}
	}
	return verdict{killed: true, by: killer(output)}
}

// killer names the innermost test that failed first.
func killer(output string) string {
	if m := running.FindStringSubmatch(output); m != nil {
		return m[1] + ", which hung"
	}
	name := ""
	for _, m := range failure.FindAllStringSubmatch(output, -1) {
		if name != "" && !strings.HasPrefix(m[1], name+"/") {
			break
		}
		name = m[1]
	}
	switch {
	case name != "":
		return name
	case strings.Contains(output, "found unexpected goroutines"):
		return "the search for goroutines after the tests"
	case strings.Contains(output, "panic: "):
		return "a panic"
	}
	return "go test:\n" + output
}
