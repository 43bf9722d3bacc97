package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// maxDays is how many days are listed for people.
const maxDays = 10

// write writes the report for people.
func (r *report) write(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "published\t%d\tmessages in %v\n", r.Published,
		time.Duration(r.ElapsedMs)*time.Millisecond)
	fmt.Fprintf(t, "orders\t%d\tdistinct, and %d copies\n", r.Orders, r.Duplicates)
	if r.Ignored+r.Invalid > 0 {
		fmt.Fprintf(t, "others\t%d\tignored, and %d invalid\n", r.Ignored, r.Invalid)
	}
	if r.verified != nil {
		fmt.Fprintf(t, "total\t%d\twant %d\n", r.Total, r.Expected)
		fmt.Fprintf(t, "markers\t%d\t%d missing\n", r.Markers, r.Missing)
		r.writeDays(t)
	}
	if err := t.Flush(); err != nil || r.verified == nil {
		return err
	}
	if err := r.histogram(w); err != nil {
		return err
	}
	verdict := "exact"
	if !r.OK {
		verdict = "OFF: " + strings.Join(r.problems, "; ")
	}
	_, err := fmt.Fprintln(w, verdict)
	return err
}

func (r *report) writeDays(w io.Writer) {
	for i, d := range r.Days {
		if i == maxDays {
			fmt.Fprintf(w, "\t\tand %d more days\n", len(r.Days)-maxDays)
			return
		}
		fmt.Fprintf(w, "%s\t%d\t\n", d.Day, d.Total)
	}
}

// histogram draws the shards, the fullest one across the whole width.
func (r *report) histogram(w io.Writer) error {
	var most int64 = 1
	for _, s := range r.Shards {
		most = max(most, s.Count)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, s := range r.Shards {
		bar := strings.Repeat("█", int(barWidth*float64(s.Count)/float64(most)))
		fmt.Fprintf(t, "shard %d\t%d\t  %s\n", s.Shard, s.Count, bar)
	}
	return t.Flush()
}
