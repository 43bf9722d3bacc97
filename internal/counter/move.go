package counter

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"cloud.google.com/go/firestore"
)

// foldFields is how many days and origins one transaction moves: each is a field transform of the
// live shard, of which Firestore takes 500 (see MaxGroup). A shard of more days than that, well
// over a year, takes several.
const foldFields = MaxGroup

// A move is what one transaction takes from a shard to another.
type move struct {
	count  int64
	days   map[string]int64
	folded map[int]int64 // by origin; the shard itself is one
	whole  bool          // nothing is left
}

// part is the whole shard, or as much of it as so many fields hold. What it moves beyond its
// origins' orders are the shard's own; a part may have fewer than them (the rest then has more),
// so that count and markers can be compared after each.
func (s Shard) part(fields int) move {
	days := some(s.Days, fields)
	m := move{days: days, folded: some(s.Folded, fields-len(days)), count: s.Count}
	m.whole = len(m.days)+len(m.folded) == len(s.Days)+len(s.Folded)
	if !m.whole {
		m.count = min(s.Count, sum(m.days)) // a count that drifted below its days stays a count
	}
	if own := m.count - sum(m.folded); own != 0 {
		m.folded[s.Number] = own
	}
	return m
}

// some returns the first n entries of m, by key.
func some[K cmp.Ordered](m map[K]int64, n int) map[K]int64 {
	out := map[K]int64{}
	keys := slices.Sorted(maps.Keys(m))
	for _, k := range keys[:min(n, len(keys))] {
		out[k] = m[k]
	}
	return out
}

func sum[K comparable](m map[K]int64) (total int64) {
	for _, n := range m {
		total += n
	}
	return total
}

// data is what the move adds to a live shard.
func (m move) data() map[string]any {
	return increments(m.count,
		map[string]map[string]int64{"days": m.days, "folded": byName(m.folded)})
}

// remainder is the update that leaves what the move does not take.
func (m move) remainder(from Shard) []firestore.Update {
	updates := []firestore.Update{{Path: "count", Value: from.Count - m.count}}
	for day := range m.days {
		updates = append(updates, firestore.Update{
			FieldPath: firestore.FieldPath{"days", day}, Value: firestore.Delete})
	}
	for origin := range m.folded {
		if _, there := from.Folded[origin]; there {
			updates = append(updates, firestore.Update{
				FieldPath: firestore.FieldPath{"folded", strconv.Itoa(origin)},
				Value:     firestore.Delete})
		}
	}
	return updates
}
