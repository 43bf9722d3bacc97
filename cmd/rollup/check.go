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

// audit compares the markers with the shards, and fails when they differ.
func audit(ctx context.Context, p *program, asJSON bool) error {
	a, err := counter.Audit(ctx, p.client, p.cfg.Counter)
	if err != nil {
		return err
	}
	if asJSON {
		err = writeJSON(p.stdout, a)
	} else {
		err = writeAudit(p.stdout, a)
	}
	if err == nil && !a.OK {
		return fmt.Errorf("%s has drifted: %d markers, and the shards sum to %d",
			a.Counter, a.Markers, a.Count)
	}
	return err
}
