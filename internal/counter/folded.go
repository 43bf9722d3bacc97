package counter

import (
	"cmp"
	"slices"
)

// daysOf is on which days the orders may be counted whose markers name the shard: on those of its
// document, and of the documents that it was folded into.
func (a *AuditReport) daysOf(s *AuditShard) map[string]int64 {
	days := map[string]int64{}
	for _, d := range a.reading.Shards {
		if d.Number != s.Shard && d.Folded[s.Shard] == 0 {
			continue
		}
		for day, n := range d.Days {
			days[day] += n
		}
	}
	return days
}

// documentOf is the shard document that a drift of the shard is repaired in: its own, or the one
// that has most of what was folded out of it, where it has none or too little is left in it.
func (a *AuditReport) documentOf(s AuditShard) int {
	if s.days != nil && s.Count >= s.Drift {
		return s.Shard
	}
	document, most := s.Shard, int64(0)
	for _, d := range a.reading.Shards {
		if n := d.Folded[s.Shard]; n > most {
			document, most = d.Number, n
		}
	}
	return document
}

// families groups the shards between which orders were folded. Their documents together have the
// days of their markers together; which of them has which, nothing tells.
func (a *AuditReport) families() map[int][]AuditShard {
	family := map[int]int{}
	for _, s := range a.Shards {
		family[s.Shard] = s.Shard
	}
	for _, d := range a.reading.Shards {
		for origin := range d.Folded {
			from, to := family[origin], family[d.Number]
			for shard, f := range family {
				if f == from {
					family[shard] = to
				}
			}
		}
	}
	families := map[int][]AuditShard{}
	for _, s := range a.Shards {
		families[family[s.Shard]] = append(families[family[s.Shard]], s)
	}
	return families
}

// spread shares a day's drift among the documents of a family, so that none falls below 0.
func spread(drift int64, day string, family []AuditShard) map[int]int64 {
	family = slices.Clone(family)
	slices.SortStableFunc(family, func(x, y AuditShard) int {
		switch {
		case x.days == nil && y.days != nil:
			return 1 // what has no document comes last
		case x.days != nil && y.days == nil:
			return -1
		}
		return cmp.Compare(y.days[day], x.days[day])
	})
	shares := map[int]int64{}
	for _, s := range family {
		if n := min(drift, s.days[day]); n > 0 {
			shares[s.Shard], drift = n, drift-n
		}
	}
	if drift != 0 {
		shares[family[0].Shard] += drift
	}
	return shares
}
