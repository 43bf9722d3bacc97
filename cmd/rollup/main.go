// Rollup sums a counter's shards into its stale-tolerant total, once or at an interval, shows and
// checks what is there, and changes the number of shards.
//
//	rollup                   roll up once and exit, or with ROLLUP_EVERY repeat until SIGTERM
//	rollup show [-json]      total, today, age, lag, the exact total now, and the shards
//	rollup check -max-age D  exit 1 when the total is older than D: for monitors
//	rollup audit [-repair]   compare markers with shards; exit 1 on drift
//	rollup recent [-n 50]    the orders counted last
//	rollup cleanup -older-than D  delete expired markers where there is no TTL policy
//	rollup reshard -shards N change the number of shards while orders flow
//	rollup reshard -fold     move what older shards have counted into those that are left
//
// Each gives up after 20 s (an audit after 4 minutes, a cleanup after an hour), or -timeout D; of a
// rollup that repeats, each run after a minute. It is set up by environment variables (see config). Exit codes: 0 done; 1 failed, stale or
// drifted; 2 bad settings or arguments.
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

	"golang.org/x/term"

	"github.com/atlasmart/ordertally/internal/settings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal kills
	err := run(ctx, os.Args[1:], deps{stdin: os.Stdin, stdout: os.Stdout,
		stderr: os.Stderr, terminal: term.IsTerminal(int(os.Stdin.Fd()))})
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(settings.ExitCode(err))
}
