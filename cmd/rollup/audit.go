package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/atlasmart/ordertally/internal/counter"
)

// writeAudit shows the whole, every shard, and the days that differ.
func writeAudit(w io.Writer, a *counter.AuditReport) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "\tmarkers\tcount\tdrift\t\n")
	fmt.Fprintf(t, "%s\t%d\t%d\t%+d\t\n", a.Counter, a.Markers, a.Count, a.Drift)
	for _, s := range a.Shards {
		fmt.Fprintf(t, "shard %d\t%d\t%d\t%+d\t\n", s.Shard, s.Markers, s.Count, s.Drift)
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
	_, err := fmt.Fprintf(w, "%d of %d days are right, at %s\n", right, len(a.Days),
		stamp(a.ReadTime))
	return err
}
