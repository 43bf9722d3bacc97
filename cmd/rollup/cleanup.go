package main

import (
	"context"
	"flag"
	"fmt"
	"time"

	"github.com/atlasmart/ordertally/internal/counter"
)

// cleanupTimeout bounds a cleanup. It goes on where it was when it is run again.
const cleanupTimeout = time.Hour

// cleanupFlags are what to delete.
type cleanupFlags struct {
	olderThan time.Duration
	json      bool
}

func cleanupFlagsOf(set *flag.FlagSet) *cleanupFlags {
	f := &cleanupFlags{}
	set.DurationVar(&f.olderThan, "older-than", 0, "")
	set.BoolVar(&f.json, "json", false, "")
	return f
}

// wrong returns what is wrong with the flags, or "".
func (f *cleanupFlags) wrong() string {
	if f.olderThan <= 0 {
		return "want an -older-than of more than 0: at least the marker TTL, such as 840h"
	}
	return ""
}

func (f *cleanupFlags) run(ctx context.Context, p *program) error {
	if err := sealFirst(ctx, p); err != nil {
		return err
	}
	c, err := counter.NewCleanup(ctx, p.client, p.cfg.Counter, f.olderThan)
	if err != nil {
		return err
	}
	if err := c.Run(ctx, func(shard int) {
		fmt.Fprintf(p.stderr, "shard %d: %d markers deleted so far\n", shard, c.Deleted)
	}); err != nil {
		return err
	}
	if f.json {
		return writeJSON(p.stdout, c)
	}
	_, err = fmt.Fprintf(p.stdout, "deleted %d expired markers of %s, and kept %d of that age that "+
		"have not expired\n", c.Deleted, c.Counter, c.Kept)
	return err
}

// sealFirst audits and seals: a marker that is deleted before an audit has verified it leaves an
// order that nobody can verify any more.
func sealFirst(ctx context.Context, p *program) error {
	a, err := counter.Audit(ctx, p.client, p.cfg.Counter)
	if err != nil {
		return err
	}
	if !a.OK {
		return fmt.Errorf("nothing is deleted before the drift is repaired: %w", drifted(a))
	}
	if a.Unknown > 0 {
		return fmt.Errorf("nothing is deleted of %s: the markers of %d orders are gone before any "+
			"audit verified them (see rollup audit -accept)", a.Counter, a.Unknown)
	}
	_, err = a.Seal(ctx, p.client, "")
	return err
}
