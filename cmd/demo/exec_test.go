package main

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/atlasmart/ordertally/internal/emulator/emulatortest"
)

func TestExec_theCommandFindsTheEmulators(t *testing.T) {
	env := emulatortest.New(t)
	env.Setenv()
	var out bytes.Buffer
	script := "echo $FIRESTORE_EMULATOR_HOST $PUBSUB_EMULATOR_HOST"
	args := []string{"exec", "--", "sh", "-c", script}
	if err := run(t.Context(), args, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	if want := env.FirestoreAddr() + " " + env.PubSubAddr() + "\n"; out.String() != want {
		t.Errorf("got %q, want %q", &out, want)
	}
}

func TestExec_exitCodes(t *testing.T) {
	emulatortest.New(t).Setenv()
	for _, test := range []struct {
		command []string
		want    int
	}{
		{[]string{"true"}, 0},
		{[]string{"sh", "-c", "exit 3"}, 3},
		{[]string{"sh", "-c", "kill -TERM $$"}, 128 + 15},
		{[]string{"no-such-command"}, 1},
	} {
		err := run(t.Context(), append([]string{"exec"}, test.command...), io.Discard, io.Discard)
		if got := exitCode(err); got != test.want {
			t.Errorf("%q: exit code %d, want %d (%v)", test.command, got, test.want, err)
		}
		if silent := message(err) == ""; silent != (test.want != 1) {
			t.Errorf("%q: the demo says %q", test.command, message(err))
		}
	}
}

func TestExec_forwardsSignals(t *testing.T) {
	emulatortest.New(t).Setenv()
	t.Setenv(demoVariable, "1")
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		script := `trap "exit 7" TERM INT; echo up; while :; do sleep 0.02; done`
		cmd := exec.CommandContext(t.Context(), os.Args[0], "exec", "sh", "-c", script)
		// A group of its own: the command must not get the signal by itself.
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "up\n" {
			t.Fatalf("the command says %q, %v", line, err)
		}
		if err := cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		if got := cmd.ProcessState.ExitCode(); got != 7 {
			t.Errorf("%v: exit code %d, want that of the command's trap", s, got)
		}
	}
}
