package main

import (
	"os"
	"strings"
	"testing"
	"time"
)

func sh(t *testing.T, script string) *child {
	t.Helper()
	c, err := startChild("script", t.TempDir(), nil, "sh", "-c", script)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestChild_stop(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, script string
		grace        time.Duration
		want         string // In the error; empty for none.
	}{
		{"drains", `trap "exit 0" TERM; echo up; while :; do sleep 0.02; done`, stopGrace, ""},
		{"fails", `trap "exit 3" TERM; echo up; while :; do sleep 0.02; done`, stopGrace,
			"script was stopped: exit status 3"},
		{"hangs", `trap "" TERM; echo up; while :; do sleep 0.02; done`, time.Millisecond,
			"signal: killed"},
		{"has failed before", "echo up; exit 4", stopGrace, "script ended: exit status 4"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := sh(t, test.script)
			awaitOutput(t, c)
			if strings.Contains(test.name, "before") {
				<-c.done
			}
			err := c.stop(test.grace)
			if (err == nil) != (test.want == "") {
				t.Fatalf("got error %v", err)
			}
			if err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got error %v, want it to say %q", err, test.want)
			}
			if err != nil && !strings.Contains(err.Error(), ":\nup") {
				t.Errorf("the log is not shown: %v", err)
			}
		})
	}
}

// awaitOutput returns when the child has set its traps and says so.
func awaitOutput(t *testing.T, c *child) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		if info, err := os.Stat(c.log); err != nil || info.Size() > 0 {
			return
		}
		<-tick.C
	}
}

func TestChild_logTailIsShort(t *testing.T) {
	t.Parallel()
	c := sh(t, "seq 1000")
	<-c.done
	lines := strings.Split(c.logTail(), "\n")
	if got := len(lines); got != logLines+1 || lines[got-1] != "1000" {
		t.Errorf("the tail is %q", lines)
	}
}
