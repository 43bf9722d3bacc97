package emulator

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// What this test binary is instead: a starter of emulators, and how it ends.
const endingVariable = "EMULATOR_TEST_ENDING"

func TestMain(m *testing.M) {
	if os.Getenv(fakeVariable) != "" {
		runFake(os.Args[1:])
	}
	if ending := os.Getenv(endingVariable); ending != "" {
		runStarter(ending)
	}
	goleak.VerifyTestMain(m)
}

// runStarter starts the pair, says so, and ends without stopping it.
func runStarter(ending string) {
	if _, err := Start(context.Background(), ""); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("started")
	switch ending {
	case "panic":
		panic("as the testing package does after its timeout")
	case "kill":
		_, _ = os.Stdin.Read(make([]byte, 1))
	}
	os.Exit(3)
}

// starter is a process that has started the pair.
type starter struct {
	cmd *exec.Cmd
	all *os.File // Ends with the last of the starter, its guards and its emulators.
}

func newStarter(t *testing.T, ending string, env ...string) starter {
	t.Helper()
	all, held, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { all.Close() })
	defer held.Close()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), endingVariable+"="+ending,
		firestoreService.variable+"=", pubSubService.variable+"=")
	cmd.Env = append(cmd.Env, env...)
	// The guard has uses of its own for descriptors 3 and 4: the third is inherited.
	cmd.ExtraFiles = []*os.File{held, held, held}
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if line != "started\n" {
		t.Fatalf("the starter says %q: %v", line, err)
	}
	return starter{cmd, all}
}

// allGone returns an error if any process that came from the starter is left.
func (s starter) allGone() error {
	// Far beyond what the guards take.
	if err := s.all.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		return err
	}
	_, err := io.Copy(io.Discard, s.all)
	return err
}
