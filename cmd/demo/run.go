package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
)

const usage = `demo run [-bin DIR] [-orders FILE]   orders delivered twice become one exact total
demo up  [-bin DIR] [-orders FILE]   the same, and stays until Ctrl-C
demo exec [--] command args…         runs a command that finds the emulators

-bin DIR       where worker, rollup and replay are (default "bin")
-orders FILE   the orders to publish (default "testdata/orders.jsonl")
`

// run carries out one invocation.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) == 0 {
		return usageError("a command is missing")
	}
	switch name, args := args[0], args[1:]; name {
	case "exec":
		return runExec(ctx, args, stdout, stderr)
	case "run", "up":
		d := demo{stays: name == "up", stdout: stdout, stderr: stderr}
		if err := d.parse(args); err != nil {
			return err
		}
		return d.run(ctx)
	case "-h", "-help", "--help", "help":
		fmt.Fprint(stdout, usage)
		return nil
	default:
		return usageError(fmt.Sprintf("there is no command %q", name))
	}
}

func (d *demo) parse(args []string) error {
	flags := flag.NewFlagSet("demo", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&d.bin, "bin", "bin", "")
	flags.StringVar(&d.orders, "orders", "testdata/orders.jsonl", "")
	if err := flags.Parse(args); err != nil {
		return usageError(err.Error())
	}
	if flags.NArg() > 0 {
		return usageError(fmt.Sprintf("unexpected argument %q", flags.Arg(0)))
	}
	return nil
}

// usageError is about the command line.
type usageError string

func (e usageError) Error() string { return "demo: " + string(e) + "\n" + usage }

// commandError carries the exit code of the command that exec ran, which has told
// itself what went wrong.
type commandError struct{ code int }

func (e commandError) Error() string { return fmt.Sprintf("the command exited with %d", e.code) }

// message is what is left to say about err.
func message(err error) string {
	if _, ok := errors.AsType[commandError](err); err == nil || ok {
		return ""
	}
	return err.Error()
}

func exitCode(err error) int {
	if err == nil {
		return 0
	}
	if command, ok := errors.AsType[commandError](err); ok {
		return command.code
	}
	if _, ok := errors.AsType[usageError](err); ok {
		return 2
	}
	return 1
}
