// Package child runs other programs as children that never outlive their starter.
package child

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Grace is longer than what the worker takes to drain.
const Grace = 12 * time.Second

// logLines is how much of a child's log an error shows.
const logLines = 15

// orphanGuard becomes the child, and leaves a subshell that stops it when its starter
// was killed and can no longer do it: the standard input ends with the starter. The
// child is the process $$.
const orphanGuard = `exec 3<&0 </dev/null
(
	trap '' TERM
	read -r _ <&3
	kill -TERM 0
	for _ in 1 2 3 4 5 6 7 8 9 10 11 12; do kill -0 $$ || exit; sleep 1; done
	kill -KILL 0
) 2>/dev/null &
exec 3<&- "$0" "$@"`

// Child is a program that runs until it is stopped. It has a process group of its
// own, so that a Ctrl-C reaches the starter only, which then stops its children in
// their order.
type Child struct {
	Name string
	log  string // The file that it writes to.
	cmd  *exec.Cmd
	hold *os.File      // The guard's standard input.
	done chan struct{} // Closed when it has ended.
}

// Start runs argv with its output in a file of the directory logs.
func Start(name, logs string, env []string, argv ...string) (*Child, error) {
	log := filepath.Join(logs, name+".log")
	out, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	stdin, hold, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer stdin.Close()
	cmd := exec.Command("/bin/sh", append([]string{"-c", orphanGuard}, argv...)...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("starting %s: %w", name, err), hold.Close())
	}
	c := &Child{Name: name, log: log, cmd: cmd, hold: hold, done: make(chan struct{})}
	go func() {
		defer close(c.done)
		_ = cmd.Wait() // The process state is what tells.
	}()
	return c, nil
}

// Done is closed when the child has ended.
func (c *Child) Done() <-chan struct{} { return c.done }

// State tells how the child ended. Call it when Done is closed.
func (c *Child) State() *os.ProcessState { return c.cmd.ProcessState }

// Stop ends the child, with SIGTERM and after the grace with SIGKILL, and returns an
// error unless it has exited with 0.
func (c *Child) Stop(grace time.Duration) error {
	defer c.hold.Close()
	defer c.kill() // The guard is left.
	select {
	case <-c.done:
		return c.result("ended")
	default:
	}
	_ = syscall.Kill(-c.cmd.Process.Pid, syscall.SIGTERM) // It may just have ended.
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-c.done:
	case <-timer.C:
		c.kill()
		<-c.done
	}
	return c.result("was stopped")
}

// Kill ends the child with SIGKILL, and returns when it is gone.
func (c *Child) Kill() {
	defer c.hold.Close()
	c.kill()
	<-c.done
}

func (c *Child) kill() { _ = syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL) }

// result tells how the child ended, and on failure with the end of its log.
func (c *Child) result(how string) error {
	if c.cmd.ProcessState.Success() {
		return nil
	}
	return fmt.Errorf("%s %s: %v\n%s", c.Name, how, c.cmd.ProcessState, c.LogTail())
}

// LogTail returns the last lines that the child wrote, below a line that names the
// file.
func (c *Child) LogTail() string {
	b, err := os.ReadFile(c.log)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(string(bytes.TrimSpace(b)), "\n")
	lines = lines[max(0, len(lines)-logLines):]
	return "the end of " + c.log + ":\n" + strings.Join(lines, "\n")
}

// OneShot returns a command that ends by itself, or is stopped like a child when ctx
// is done.
func OneShot(ctx context.Context, path string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error {
		if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM); err != syscall.ESRCH {
			return err
		}
		return os.ErrProcessDone
	}
	cmd.WaitDelay = Grace
	return cmd
}
