package main

import (
	"context"
	"fmt"
	"time"

	"github.com/atlasmart/ordertally/internal/counter"
)

// check succeeds when the rolled up total is at most maxAge old, by the server's clock.
func check(ctx context.Context, p *program, maxAge time.Duration) error {
	age, err := counter.RollupAge(ctx, p.client, p.cfg.Counter)
	if err != nil {
		return err
	}
	age = age.Round(time.Millisecond)
	if age > maxAge {
		return fmt.Errorf("%s is stale: rolled up as of %v ago, want at most %v",
			p.cfg.Counter, age, maxAge)
	}
	_, err = fmt.Fprintf(p.stdout, "%s is fresh: rolled up as of %v ago\n", p.cfg.Counter, age)
	return err
}
