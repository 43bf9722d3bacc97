package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/atlasmart/ordertally/internal/counter"
)

// auditTimeout bounds an audit: it counts every marker, and a read-only transaction ends after
// 270 seconds anyway.
const auditTimeout = 4 * time.Minute

// auditFlags are how to audit.
type auditFlags struct {
	json, repair, yes, accept bool
	ttl                       time.Duration
	timeout                   *time.Duration // of each step
}

func auditFlagsOf(set *flag.FlagSet, timeout *time.Duration) *auditFlags {
	f := &auditFlags{timeout: timeout}
	set.BoolVar(&f.json, "json", false, "")
	set.BoolVar(&f.repair, "repair", false, "")
	set.BoolVar(&f.yes, "yes", false, "")
	set.BoolVar(&f.accept, "accept", false, "")
	set.DurationVar(&f.ttl, "marker-ttl", counter.DefaultMarkerTTL, "")
	return f
}

// wrong returns what is wrong with the flags, or "".
func (f *auditFlags) wrong() string {
	switch {
	case f.ttl <= 0:
		return "want a -marker-ttl of more than 0, such as 840h"
	case f.yes && !f.repair:
		return "-yes answers -repair, which is missing"
	case f.accept && f.repair:
		return "-accept and -repair exclude each other: repair first"
	}
	return ""
}

func (f *auditFlags) run(ctx context.Context, p *program) error {
	if !f.repair {
		return bounded(f.timeout, f.audit)(ctx, p)
	}
	if !f.yes && !p.terminal {
		return misused("rollup audit: -repair asks first, and there is no terminal: add -yes")
	}
	return repair(ctx, p, f)
}

// audit compares the markers with the shards, seals what is right, and fails when they differ.
func (f *auditFlags) audit(ctx context.Context, p *program) error {
	a, err := counter.AuditTTL(ctx, p.client, p.cfg.Counter, f.ttl)
	if err != nil {
		return err
	}
	if err := writeReport(p.stdout, a, f.json); err != nil {
		return err
	}
	if !a.OK {
		return drifted(a)
	}
	by := ""
	if f.accept {
		by = operator()
	}
	_, err = a.Seal(ctx, p.client, by)
	return err
}

// drifted says where and by how much.
func drifted(a *counter.AuditReport) error {
	where := ""
	for _, s := range a.Shards {
		if s.Drift != 0 {
			where += fmt.Sprintf("; shard %d by %+d", s.Shard, s.Drift)
		}
	}
	for _, d := range a.Days {
		if d.Drift != 0 {
			where += fmt.Sprintf("; %s by %+d", d.Day, d.Drift)
		}
	}
	if a.Strays != 0 {
		where += fmt.Sprintf("; %d markers name no shard", a.Strays)
	}
	return fmt.Errorf("%s has drifted: %d markers, and the shards sum to %d%s",
		a.Counter, a.Markers, a.Count, where)
}

func writeReport(w io.Writer, a *counter.AuditReport, asJSON bool) error {
	if asJSON {
		return writeJSON(w, a)
	}
	return writeAudit(w, a)
}

// writeAudit shows the whole, every shard, the days that differ, and what cannot be told.
func writeAudit(w io.Writer, a *counter.AuditReport) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "\tmarkers\tcount\tdrift\t\n")
	fmt.Fprintf(t, "%s\t%d\t%d\t%+d\t\n", a.Counter, a.Markers, a.Count, a.Drift)
	for _, s := range a.Shards {
		name := fmt.Sprintf("shard %d", s.Shard)
		if s.Beyond {
			name = "former " + name
		}
		fmt.Fprintf(t, "%s\t%d\t%d\t%+d\t\n", name, s.Markers, s.Count, s.Drift)
	}
	right := 0
	for _, d := range a.Days {
		if d.Drift == 0 {
			right++
			continue
		}
		fmt.Fprintf(t, "%s\t%d\t%d\t%+d\t\n", d.Day, d.Markers, d.Count, d.Drift)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%d of %d days are right, at %s\n%s", right, len(a.Days),
		stamp(a.ReadTime), notes(a))
	return err
}

// notes are the lines that only some audits need.
func notes(a *counter.AuditReport) (lines string) {
	note := func(n int64, format string, args ...any) {
		if n != 0 {
			lines += fmt.Sprintf(format+"\n", append([]any{n}, args...)...)
		}
	}
	if a.SealedTo != nil {
		note(a.Sealed, "%d of the markers were verified by earlier audits, up to %s",
			stamp(*a.SealedTo))
	}
	var folded int64
	for _, s := range a.Shards {
		folded += max(0, s.Folded)
	}
	note(folded, "%d orders are counted in another shard than their markers name: they were folded")
	note(a.Unknown, "%d orders cannot be told: their markers may have expired before any audit "+
		"verified them (-accept takes the counts' word)")
	note(a.Strays, "%d markers name no shard of the counter, or no time")
	note(a.Expired, "%d markers are older than the TTL, and not deleted yet")
	return lines
}
