// Demo runs Ordertally on Google's emulators, on one machine, without an account.
//
//	demo run                       orders delivered twice become one exact total
//	demo up                        the same, and stays until Ctrl-C
//	demo exec [--] command args…   runs a command that finds the emulators
//
// The emulators that FIRESTORE_EMULATOR_HOST and PUBSUB_EMULATOR_HOST name are used
// and left running; those that are missing are started on free ports, and stopped at
// the end however it comes. Exit codes: 0 done, every number exact; 1 failed; 2 bad
// arguments; exec has that of its command.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(),
		os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop() // Not before: a second signal must not leave the children behind.
	if text := message(err); text != "" {
		fmt.Fprintln(os.Stderr, text)
	}
	os.Exit(exitCode(err))
}
