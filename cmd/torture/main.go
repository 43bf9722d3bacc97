// Torture breaks real workers on Google's emulators for as long as one likes, and proves at every
// look that each order was counted once.
//
//	torture kill   orders delivered twice, workers killed with SIGKILL all the time
//	torture term   the same with SIGTERM: each worker must drain and exit with 0
//	torture soak   everything breaks at random, for a chosen time
//
// The workers are the built program, and reach Pub/Sub and Firestore through relays: these break
// calls, and see every acknowledgement before it is passed on, so that an order which is
// acknowledged without a marker is seen and not inferred. A relay between the processes was
// chosen over faults inside of them, since what is killed and counted is then what is deployed.
//
// Everything that it starts is gone at the end however it comes. Exit codes: 0 exact, or
// interrupted without a drift; 1 failed, with the seed; 2 bad arguments.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/atlasmart/ordertally/internal/settings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(),
		os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop() // not before: a second signal must not leave the children behind
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "torture:", err)
	}
	os.Exit(settings.ExitCode(err))
}
