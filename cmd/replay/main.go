// Replay publishes a file of orders to a topic, each of them several times and shuffled if asked,
// and verifies that each was counted once.
//
//	replay -topic orders -file testdata/orders.jsonl -times 2 -shuffle -verify
//
// Exit codes: 0 done; 1 failed, or a count is off; 2 bad arguments.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // a minimal image has no time zones of its own

	"github.com/atlasmart/ordertally/internal/settings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal kills
	err := run(ctx, os.Args[1:], deps{stdout: os.Stdout, stderr: os.Stderr})
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(settings.ExitCode(err))
}
