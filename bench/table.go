package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
)

// A row is a stage's medians over all rounds.
type row struct {
	mode                  string
	concurrency, groupMax int
	rounds                int
	perSecond             float64
	least, most           float64
	p50, p99              float64
	writes, reads         float64 // an order
}

func (r row) label() string {
	switch {
	case r.groupMax > 1:
		return fmt.Sprintf("%s (groups of %d)", r.mode, r.groupMax)
	case r.groupMax == 1 && r.mode != "hot-document":
		return fmt.Sprintf("%s (%d at once)", r.mode, r.concurrency)
	}
	return r.mode
}

// rows gathers the records of each stage, in the order in which they first appear by name.
func rows(records []record) []row {
	type key struct {
		mode                  string
		concurrency, groupMax int
	}
	byKey := map[key][]record{}
	for _, r := range records {
		k := key{r.Mode, r.Concurrency, r.GroupMax}
		byKey[k] = append(byKey[k], r)
	}
	var all []row
	for k, recs := range byKey {
		of := func(f func(record) float64) []float64 {
			var v []float64
			for _, r := range recs {
				v = append(v, f(r))
			}
			return v
		}
		rate := of(func(r record) float64 { return r.PerSecond })
		all = append(all, row{k.mode, k.concurrency, k.groupMax, len(recs),
			median(rate), slices.Min(rate), slices.Max(rate),
			median(of(func(r record) float64 { return r.LatencyMs.P50 })),
			median(of(func(r record) float64 { return r.LatencyMs.P99 })),
			median(of(func(r record) float64 { return float64(r.Writes) / float64(max(1, r.Orders)) })),
			median(of(func(r record) float64 { return float64(r.Reads) / float64(max(1, r.Orders)) }))})
	}
	slices.SortFunc(all, func(a, b row) int {
		if a.perSecond < b.perSecond {
			return -1
		}
		return 1
	})
	return all
}

func writeTable(w io.Writer, records []record) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "\nstage\torders/s\tleast\tmost\tp50 ms\tp99 ms\twrites/order\treads/order\t")
	all := rows(records)
	for _, r := range all {
		fmt.Fprintf(t, "%s\t%.0f\t%.0f\t%.0f\t%.1f\t%.1f\t%.3f\t%.2f\t\n", r.label(),
			r.perSecond, r.least, r.most, r.p50, r.p99, r.writes, r.reads)
	}
	fmt.Fprintln(t)
	for _, r := range ratios(all) {
		fmt.Fprintf(t, "%s\t%.2f\t\t\t\t\t\t\t\n", r.what, r.value)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	return errors.Join(writeCost(w, all), writeAdvice(w, all))
}

// A ratio compares two medians of one run.
type ratio struct {
	what  string
	value float64
}

// best is the fastest row of a mode, or one with no rate.
func best(all []row, mode string) (b row) {
	for _, r := range all {
		if r.mode == mode && r.perSecond > b.perSecond {
			b = r
		}
	}
	return b
}

func only(all []row, mode string, concurrency, groupMax int) (b row) {
	for _, r := range all {
		if r.mode == mode && (concurrency == 0 || r.concurrency == concurrency) &&
			(groupMax == 0 || r.groupMax == groupMax) {
			return r
		}
	}
	return b
}

func ratios(all []row) (out []ratio) {
	add := func(what string, a, b float64) {
		if a > 0 && b > 0 {
			out = append(out, ratio{what, a / b})
		}
	}
	ours := only(all, "group", 0, groupDefault).perSecond
	raw := best(all, "raw").perSecond
	acks := best(all, "ack-only").perSecond
	through := best(all, "end-to-end").perSecond
	var naive row
	for _, c := range []int{16, 64, 256} {
		if r := only(all, "textbook-consumer", c, 0); r.perSecond > naive.perSecond {
			naive = r
		}
	}
	if a, b := best(all, "idle"), best(all, "idle-textbook"); a.p50 > 0 {
		add("one order at 50/s: p50 / textbook's p50", a.p50, b.p50)
	}
	last := fmt.Sprintf("growth-%06d", longOrders)
	add("growth: after 200,000 / first 20,000", best(all, last).perSecond,
		best(all, "growth-000000").perSecond)
	add("counter / textbook at its best", ours, best(all, "textbook").perSecond)
	add("counter / raw commits", ours, raw)
	if raw > 0 && acks > 0 {
		add("worker / both ceilings in series", through, 1/(1/acks+1/raw))
	}
	add("worker / textbook consumer at its best", through, naive.perSecond)
	add("worker / textbook consumer, 1,000 in flight", through,
		only(all, "textbook-consumer", 1000, 0).perSecond)
	add("replay / first pass", best(all, "replay").perSecond, through)
	add("remembered replay / ack-only", best(all, "replay-remembered").perSecond, acks)
	add("three workers / one", best(all, "three-workers").perSecond, through)
	return out
}
