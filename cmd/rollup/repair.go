package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/atlasmart/ordertally/internal/counter"
)

// repair audits, shows what would set it right, asks, does it, and looks again. It succeeds when
// the second look finds nothing. Each step has its own time: a person may think for longer.
func repair(ctx context.Context, p *program, f *auditFlags) error {
	var plan *counter.Repair
	err := bounded(f.timeout, func(ctx context.Context, p *program) error {
		a, err := counter.AuditTTL(ctx, p.client, p.cfg.Counter, f.ttl)
		if err != nil || a.OK {
			return err
		}
		if err := writeAudit(p.stderr, a); err != nil {
			return err
		}
		plan, err = a.Repair(ctx, p.client)
		return err
	})(ctx, p)
	if err != nil {
		return err
	}
	if plan != nil {
		writePlan(p.stderr, p.cfg.Counter, plan)
		if !f.yes && !confirmed(p.stdin, p.stderr) {
			return fmt.Errorf("%s was not repaired: nobody said yes", p.cfg.Counter)
		}
		if err := bounded(f.timeout, func(ctx context.Context, p *program) error {
			return apply(ctx, p, plan)
		})(ctx, p); err != nil {
			return err
		}
	}
	return bounded(f.timeout, f.audit)(ctx, p)
}

func apply(ctx context.Context, p *program, plan *counter.Repair) error {
	applied, err := plan.Apply(ctx, p.client, operator())
	if err != nil {
		return err
	}
	if !applied {
		fmt.Fprintf(p.stderr, "somebody else repaired %s meanwhile, and this repair was not "+
			"applied\n", p.cfg.Counter)
		return nil
	}
	fmt.Fprintf(p.stderr, "repaired, and recorded as repair %d\n", plan.Number)
	return nil
}

// writePlan shows each number that the repair would add.
func writePlan(w io.Writer, name string, plan *counter.Repair) {
	fmt.Fprintf(w, "To agree with its markers, %s needs:\n", name)
	for _, s := range plan.Shards {
		if s.Count != 0 {
			fmt.Fprintf(w, "  shard %d count %+d\n", s.Shard, s.Count)
		}
		for _, day := range slices.Sorted(maps.Keys(s.Days)) {
			fmt.Fprintf(w, "  shard %d %s %+d\n", s.Shard, day, s.Days[day])
		}
		for _, origin := range slices.Sorted(maps.Keys(s.Folded)) {
			fmt.Fprintf(w, "  shard %d folded from %d %+d\n", s.Shard, origin, s.Folded[origin])
		}
	}
}

// confirmed asks, and takes nothing but yes for a yes.
func confirmed(in io.Reader, out io.Writer) bool {
	fmt.Fprint(out, "Add these numbers? Type yes: ")
	line, err := bufio.NewReader(in).ReadString('\n')
	return err == nil && strings.TrimSpace(line) == "yes"
}
