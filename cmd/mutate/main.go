// Mutate breaks the code on purpose, one small mutant at a time, and wants the tests to notice each.
//
//	mutate [-run REGEXP] [-list]
//
// It is run from the module's root; the mutants are those of mutants.txt. The tree is never
// changed: a mutant is an overlay that go test compiles instead of a file. Tests that need the
// emulators find them through FIRESTORE_EMULATOR_HOST and PUBSUB_EMULATOR_HOST, or start them.
// Exit codes: 0 every mutant was killed; 1 one survived, or could not be tried; 2 bad arguments.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/atlasmart/ordertally/internal/settings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(settings.ExitCode(err))
}
