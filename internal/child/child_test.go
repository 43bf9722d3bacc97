package child

import (
	"os"
	"strings"
	"testing"
	"time"
)

func sh(t *testing.T, script string) *Child {
	t.Helper()
	c, err := Start("script", t.TempDir(), nil, "sh", "-c", script)
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
		{"drains", `trap "exit 0" TERM; echo up; while :; do sleep 0.02; done`, Grace, ""},
		{"fails", `trap "exit 3" TERM; echo up; while :; do sleep 0.02; done`, Grace,
			"script was stopped: exit status 3"},
		{"hangs", `trap "" TERM; echo up; while :; do sleep 0.02; done`, time.Millisecond,
			"signal: killed"},
		{"has failed before", "echo up; exit 4", Grace, "script ended: exit status 4"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := sh(t, test.script)
			awaitOutput(t, c)
			if strings.Contains(test.name, "before") {
				<-c.done
			}
			err := c.Stop(test.grace)
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
func awaitOutput(t *testing.T, c *Child) {
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

func TestChild_LogTailIsShort(t *testing.T) {
	t.Parallel()
	c := sh(t, "seq 1000")
	<-c.done
	lines := strings.Split(c.LogTail(), "\n")
	if got := len(lines); got != logLines+1 || lines[got-1] != "1000" {
		t.Errorf("the tail is %q", lines)
	}
}

func TestChild_kill(t *testing.T) {
	t.Parallel()
	c := sh(t, `trap "" TERM; echo up; while :; do sleep 0.02; done`)
	awaitOutput(t, c)
	c.Kill()
	select {
	case <-c.Done():
	default:
		t.Error("the child is still there")
	}
	if got := c.State().String(); got != "signal: killed" {
		t.Errorf("it ended with %q, want that it was killed", got)
	}
}
