package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
)

// A row is a stage's medians over all rounds.
type row struct {
	mode                  string
	concurrency, groupMax int
	streams               int
	rounds                int
	perSecond             float64
	least, most           float64
	p50, p99              float64
	writes, reads         float64 // an order
}

func (r row) label() string {
	switch {
	case r.groupMax > 1 && r.streams > 1:
		return fmt.Sprintf("%s (groups of %d, %d streams)", r.mode, r.groupMax, r.streams)
	case r.groupMax > 1:
		return fmt.Sprintf("%s (groups of %d)", r.mode, r.groupMax)
	case r.groupMax == 1 && r.streams > 1:
		return fmt.Sprintf("%s (%d at once, %d streams)", r.mode, r.concurrency, r.streams)
	case r.groupMax == 1 && r.mode != "hot-document":
		return fmt.Sprintf("%s (%d at once)", r.mode, r.concurrency)
	case r.streams > 1:
		return fmt.Sprintf("%s (%d streams)", r.mode, r.streams)
	}
	return r.mode
}

// rows gathers the records of each stage, in the order in which they first appear by name.
func rows(records []record) []row {
	type key struct {
		mode                           string
		concurrency, groupMax, streams int
	}
	byKey := map[key][]record{}
	for _, r := range records {
		k := key{r.Mode, r.Concurrency, r.GroupMax, r.Streams}
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
		all = append(all, row{k.mode, k.concurrency, k.groupMax, k.streams, len(recs),
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
	for _, r := range medianRatios(records) {
		fmt.Fprintf(t, "%s\t%.2f\t%.2f\t%.2f\t\t\t\t\t\n", r.what, r.value, r.least, r.most)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	return errors.Join(writeCost(w, all), writeAdvice(w, all))
}

// A ratio compares two stages of one round, and is the median over all rounds: what the machine
// does beside the lab changes within minutes, and meets the two alike.
type ratio struct {
	what               string
	value, least, most float64
}

func medianRatios(records []record) (out []ratio) {
	byRound := map[int][]record{}
	for _, r := range records {
		byRound[r.Round] = append(byRound[r.Round], r)
	}
	values := map[string][]float64{}
	for _, n := range slices.Sorted(maps.Keys(byRound)) {
		for _, r := range ratios(rows(byRound[n])) {
			if values[r.what] == nil {
				out = append(out, r)
			}
			values[r.what] = append(values[r.what], r.value)
		}
	}
	for i, r := range out {
		v := values[r.what]
		out[i] = ratio{r.what, median(v), slices.Min(v), slices.Max(v)}
	}
	return out
}

// best is the fastest row of a mode, or one with no rate.
func best(all []row, mode string) row {
	return bestOf(all, mode, func(row) bool { return true })
}

// bestOf is the fastest row of a mode that ok accepts, or one with no rate.
func bestOf(all []row, mode string, ok func(row) bool) (b row) {
	for _, r := range all {
		if r.mode == mode && ok(r) && r.perSecond > b.perSecond {
			b = r
		}
	}
	return b
}

// ours is the product's counter alone, at its default group size.
func ours(all []row) row {
	return bestOf(all, "group", func(r row) bool { return r.groupMax == groupDefault })
}

func ratios(all []row) (out []ratio) {
	add := func(what string, a, b float64) {
		if a > 0 && b > 0 {
			out = append(out, ratio{what: what, value: a / b})
		}
	}
	counter := ours(all).perSecond
	raw := best(all, "raw").perSecond
	naive := func(streams int) float64 {
		return bestOf(all, "textbook-consumer", func(r row) bool { return r.streams == streams }).perSecond
	}
	acks, through := best(all, "ack-only").perSecond, best(all, "end-to-end").perSecond
	add("one order at 50/s: p50 / textbook's p50", best(all, "idle").p50, best(all, "idle-textbook").p50)
	add("the same through Pub/Sub", best(all, "idle-consumer").p50, best(all, "idle-textbook-consumer").p50)
	last := fmt.Sprintf("growth-%06d", longOrders)
	add("growth: after 200,000 / first 20,000", best(all, last).perSecond,
		best(all, "growth-000000").perSecond)
	add("counter / textbook at its best", counter, best(all, "textbook").perSecond)
	add("counter / raw commits", counter, raw)
	if raw > 0 && acks > 0 {
		add("worker / both ceilings in series", through, 1/(1/acks+1/raw))
	}
	add("worker / textbook consumer at its best", through, naive(1))
	add(fmt.Sprintf("the same, textbook over %d streams", feeding), through, naive(feeding))
	add("worker / textbook consumer, 1,000 in flight", through,
		best(all, "textbook-collapsed").perSecond)
	add("replay / first pass", best(all, "replay").perSecond, through)
	add("remembered replay / ack-only", best(all, "replay-remembered").perSecond, acks)
	add("three workers / one", best(all, "three-workers").perSecond, through)
	return out
}
