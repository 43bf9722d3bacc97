package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"golang.org/x/term"

	"github.com/atlasmart/ordertally/internal/emulator"
)

// runExec runs a command that the environment leads to the emulators.
func runExec(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		return usageError("exec: a command is missing")
	}
	pair, err := emulator.Start(ctx, "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pair.Stop()) }()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), pair.Env()...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, stdout, stderr
	return runForwarding(cmd)
}

// runForwarding runs cmd to its end, which is the command's own affair: a signal is
// passed on, and what follows from it is awaited.
func runForwarding(cmd *exec.Cmd) error {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting the command: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	// The terminal sends a Ctrl-C to the command by itself. To forward it would make it
	// two, and the second one kills many a program that would drain.
	fromTerminal := term.IsTerminal(int(os.Stdin.Fd()))
	for {
		select {
		case s := <-signals:
			if s != os.Interrupt || !fromTerminal {
				_ = cmd.Process.Signal(s) // It may just have ended.
			}
		case err := <-ended:
			return commandResult(cmd.ProcessState, err)
		}
	}
}

// commandResult gives a command that a signal ended the exit code it has in a shell.
func commandResult(state *os.ProcessState, err error) error {
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit == nil {
		return err
	}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return commandError{128 + int(status.Signal())}
	}
	return commandError{state.ExitCode()}
}
