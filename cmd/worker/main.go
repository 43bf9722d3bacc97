// Worker counts accepted orders: it consumes a Pub/Sub subscription, counts each order exactly
// once into a sharded Firestore counter, and acknowledges a message only when that is sure.
//
// It is set up by environment variables (see config), runs until SIGTERM or SIGINT, and then
// drains. Exit codes: 0 drained; 1 failed, or messages had to be nacked at the end of the grace;
// 2 bad settings.
package main

import (
	"context"
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
	err := run(ctx, os.Args[1:], deps{logs: os.Stderr})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(settings.ExitCode(err))
}
