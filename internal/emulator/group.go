package emulator

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// guard runs the emulator's command, and kills the whole process group as soon as
// its standard input ends, which it does when the starter stops the emulator and
// also when the starter dies in any way. SIGTERM would do no better: an emulator
// has nothing to save.
//
// The command is not exec'ed by the Firestore launcher, so that a signal to one
// process would leave the JVM behind. Descriptor 3 is the life pipe of group; the
// subshell that watches gives it up, as it must not look like a live emulator.
const guard = `exec 4<&0 </dev/null
(read -r _ <&4; rm -rf "$0"; kill -KILL 0) 3>&- &
exec 4<&-
"$@"`

// killAfter is how long the guard has for its work before the group is killed from
// here, and how long that may take.
const killAfter = 5 * time.Second

// group is an emulator's processes, all in one process group of their own: a
// Ctrl-C on the terminal reaches the starter only.
type group struct {
	cmd    *exec.Cmd
	hold   *os.File // The guard's standard input stays open for as long as this does.
	life   *os.File // Ends when no process of the emulator is left.
	dir    string
	output string

	once    sync.Once
	stopErr error
}

// startGroup runs argv under a guard that removes dir when it ends. The output is
// a file, as a pipe would block the emulator whenever its reader falls behind.
func startGroup(dir, output string, env, argv []string) (*group, error) {
	out, err := os.Create(output)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	stdin, hold, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer stdin.Close()
	life, held, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, hold.Close())
	}
	defer held.Close()
	cmd := exec.Command("/bin/sh", append([]string{"-c", guard, dir}, argv...)...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, out, out
	cmd.ExtraFiles = []*os.File{held}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(err, hold.Close(), life.Close())
	}
	return &group{cmd: cmd, hold: hold, life: life, dir: dir, output: output}, nil
}

// gone waits up to d for the emulator's processes to end.
func (g *group) gone(d time.Duration) (bool, error) {
	if err := g.life.SetReadDeadline(time.Now().Add(d)); err != nil {
		return false, err
	}
	_, err := g.life.Read(make([]byte, 1))
	switch {
	case errors.Is(err, io.EOF):
		return true, nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		return false, nil
	}
	return false, err
}

func (g *group) stop() error {
	g.once.Do(func() { g.stopErr = g.stopOnce() })
	return g.stopErr
}

func (g *group) stopOnce() error {
	defer g.life.Close()
	err := g.hold.Close()
	gone, goneErr := g.gone(killAfter)
	if !gone {
		_ = syscall.Kill(-g.cmd.Process.Pid, syscall.SIGKILL)
		gone, goneErr = g.gone(killAfter)
	}
	if !gone {
		return errors.Join(err, goneErr,
			fmt.Errorf("process group %d survives SIGKILL", g.cmd.Process.Pid))
	}
	_ = g.cmd.Wait() // Only reaps: that it was killed is no news.
	return errors.Join(err, os.RemoveAll(g.dir))
}
