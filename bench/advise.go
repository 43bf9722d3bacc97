package main

import (
	"fmt"
	"io"
	"math"
	"text/tabwriter"
)

// writeCost says what a million orders cost in documents, from the counted calls. The price of a
// document is the reader's own: it differs by region and by contract.
func writeCost(w io.Writer, all []row) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "\na million orders\twrites\treads\t")
	for _, mode := range []string{"textbook", "group", "idle", "duplicates"} {
		r := best(all, mode)
		if mode == "group" {
			r = ours(all)
		}
		if r.rounds > 0 {
			fmt.Fprintf(t, "%s\t%.0f\t%.0f\t\n", r.label(), 1e6*r.writes, 1e6*r.reads)
		}
	}
	return t.Flush()
}

// writeAdvice says how many shards a rate needs by what this run measured: a lane has one commit
// in flight, so a shard takes one group in each commit's time.
func writeAdvice(w io.Writer, all []row) error {
	r := ours(all)
	if r.rounds == 0 || r.writes <= 1 {
		return nil
	}
	size := 1 / (r.writes - 1) // orders in a group: one write of the shard for each
	perShard := r.perSecond / shards
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "\nwished orders/s\tshards by this run (%.0f orders in a group, %.0f ms a commit)\t"+
		"shards at one write a second to each\t\n", size, 1000*size/perShard)
	for _, wish := range []float64{100, 1000, 10_000} {
		fmt.Fprintf(t, "%.0f\t%d\t%d\t\n", wish, shardsFor(wish, size, perShard/size),
			shardsFor(wish, groupDefault, 1))
	}
	return t.Flush()
}

// shardsFor is how many shards a rate needs when each takes so many groups a second.
func shardsFor(perSecond, groupSize, groupsPerSecond float64) int {
	return int(math.Ceil(perSecond / (groupSize * groupsPerSecond)))
}
