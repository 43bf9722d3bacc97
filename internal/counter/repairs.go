package counter

import (
	"maps"
	"slices"

	"cloud.google.com/go/firestore"
)

// repairs collects what to add to each shard document.
type repairs map[int]*ShardRepair

func (r repairs) of(document int) *ShardRepair {
	if r[document] == nil {
		r[document] = &ShardRepair{Shard: document, Days: map[string]int64{}}
	}
	return r[document]
}

// count adds n to a document, for orders whose markers name the shard.
func (r repairs) count(document, shard int, n int64) {
	if n == 0 {
		return
	}
	d := r.of(document)
	d.Count += n
	if document == shard {
		return
	}
	if d.Folded == nil {
		d.Folded = map[int]int64{}
	}
	d.Folded[shard] += n
}

// day takes a day's drift off the documents of a family.
func (r repairs) day(day string, family []AuditShard, drifts map[int]int64) {
	var drift int64
	for _, s := range family {
		drift += drifts[s.Shard]
	}
	for document, n := range spread(drift, day, family) {
		r.of(document).Days[day] -= n
	}
}

func (r repairs) sorted() []ShardRepair {
	var all []ShardRepair
	for _, document := range slices.Sorted(maps.Keys(r)) {
		all = append(all, *r[document])
	}
	return all
}

// maps are the maps of the repair, by their fields.
func (s ShardRepair) maps() map[string]map[string]int64 {
	return map[string]map[string]int64{"days": s.Days, "folded": byName(s.Folded)}
}

// record is the repair as it is recorded.
func (s ShardRepair) record() map[string]any {
	record := map[string]any{"count": s.Count, "days": s.Days}
	if len(s.Folded) > 0 {
		record["folded"] = byName(s.Folded)
	}
	return record
}

// increments is the repair of a shard that has no document.
func (s ShardRepair) increments() map[string]any { return increments(s.Count, s.maps()) }

// updates is the repair of a shard's document.
func (s ShardRepair) updates() []firestore.Update {
	updates := []firestore.Update{{Path: "count", Value: firestore.Increment(s.Count)}}
	for name, entries := range s.maps() {
		for key, n := range entries {
			updates = append(updates, firestore.Update{FieldPath: firestore.FieldPath{name, key},
				Value: firestore.Increment(n)})
		}
	}
	return updates
}
