package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"

	"github.com/atlasmart/ordertally/internal/child"
	"github.com/atlasmart/ordertally/internal/emulator/emulatortest"
)

// newDemo returns the arguments of a demo with fake programs, in the test's project.
func newDemo(t *testing.T, name string) (env *emulatortest.Env, args []string) {
	t.Helper()
	env = emulatortest.New(t)
	env.Setenv()
	bin := fakeBin(t)
	t.Chdir(t.TempDir())
	t.Setenv("TMPDIR", t.TempDir())
	if err := os.WriteFile("orders.jsonl", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return env, []string{name, "-bin", bin, "-orders", "orders.jsonl"}
}

func TestRun_everyNumberIsExact(t *testing.T) {
	env, args := newDemo(t, "run")
	var out bytes.Buffer
	for range 2 { // The second run finds the topics of the first.
		out.Reset()
		if err := run(t.Context(), args, &out, os.Stderr); err != nil {
			t.Fatalf("%v\n%s", err, &out)
		}
	}
	for _, want := range []string{
		"Firestore  emulator " + env.FirestoreAddr() + ", named by the environment\n",
		"project    " + env.Project + "\n",
		"for people: 40\n",
		"\nexact: 40 orders, 80 messages, 40 markers, total 40\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output lacks %q:\n%s", want, &out)
		}
	}
	sub, err := env.PubSub().SubscriptionAdminClient.GetSubscription(t.Context(),
		&pubsubpb.GetSubscriptionRequest{Subscription: subscriptionName(env.Project, ordersSub)})
	if err != nil || sub.AckDeadlineSeconds != 60 {
		t.Errorf("the subscription is %v, %v", sub, err)
	}
	checkNoLogs(t)
}

// checkNoLogs reports logs that a demo has left behind.
func checkNoLogs(t *testing.T) {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(os.TempDir(), "ordertally-demo-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("logs are left in %q, %v", left, err)
	}
}

func TestRun_tellsWhatWentWrong(t *testing.T) {
	for fault, wants := range map[string][]string{
		"replay mismatches":   {`"total":41`, "all logs are in"},
		"worker ends early":   {"worker ended before it was ready: exit status 1", "the port is taken"},
		"rollup ends early":   {"rollup ended before it was ready: exit status 1", "the port is taken"},
		"worker cannot drain": {"worker was stopped: exit status 1", "had to nack 3 messages"},
	} {
		t.Run(fault, func(t *testing.T) {
			_, args := newDemo(t, "run")
			t.Setenv(faultVariable, fault)
			var out bytes.Buffer
			err := run(t.Context(), args, &out, io.Discard)
			if exitCode(err) != 1 {
				t.Errorf("exit code %d, want 1", exitCode(err))
			}
			for _, want := range wants {
				if !strings.Contains(fmt.Sprint(err), want) {
					t.Errorf("the error lacks %q: %v", want, err)
				}
			}
			if strings.Contains(out.String(), "exact: ") {
				t.Errorf("the demo claims to be exact:\n%s", &out)
			}
		})
	}
}

func TestUp_staysUntilItIsTold(t *testing.T) {
	env, args := newDemo(t, "up")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, w := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := run(ctx, args, w, os.Stderr)
		ended <- err
		w.CloseWithError(err)
	}()
	var said []string
	for lines := bufio.NewScanner(r); lines.Scan(); {
		said = append(said, lines.Text())
		if strings.HasSuffix(lines.Text(), "rollup show") {
			cancel()
		}
	}
	if err := <-ended; err != nil {
		t.Errorf("got error %v", err)
	}
	all := strings.Join(said, "\n")
	want := "    export GOOGLE_CLOUD_PROJECT=" + env.Project + "\n"
	if !strings.Contains(all, want) || !strings.Contains(all, "stopped ") {
		t.Errorf("the output lacks %q or that all was stopped:\n%s", want, all)
	}
	checkNoLogs(t)
}

func TestUp_programsDoNotOutliveAKilledDemo(t *testing.T) {
	_, args := newDemo(t, "up")
	all, held, err := os.Pipe() // Ends with the last of the demo and its children.
	if err != nil {
		t.Fatal(err)
	}
	defer all.Close()
	t.Setenv(demoVariable, "1")
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.ExtraFiles = []*os.File{held, held, held} // The guard has a use of its own for 3.
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	err = cmd.Start()
	held.Close()
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	for lines.Scan() && !strings.HasSuffix(lines.Text(), "rollup show") {
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if err := all.SetReadDeadline(time.Now().Add(2 * child.Grace)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, all); err != nil {
		t.Errorf("a program outlives the demo: %v", err)
	}
}

func TestRun_needsItsPrograms(t *testing.T) {
	err := run(t.Context(), []string{"run", "-bin", t.TempDir()}, io.Discard, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "make build") {
		t.Errorf("got error %v", err)
	}
}

func TestRun_arguments(t *testing.T) {
	for _, args := range [][]string{
		nil, {"walk"}, {"exec"}, {"exec", "--"}, {"run", "-x"}, {"up", "there"},
	} {
		if err := run(t.Context(), args, io.Discard, io.Discard); exitCode(err) != 2 {
			t.Errorf("%q: exit code %d, want 2 (%v)", args, exitCode(err), err)
		}
	}
	var out bytes.Buffer
	if err := run(t.Context(), []string{"-h"}, &out, io.Discard); err != nil || out.String() != usage {
		t.Errorf("-h: got %q, %v", &out, err)
	}
}
