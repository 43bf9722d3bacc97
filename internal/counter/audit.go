package counter

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"cloud.google.com/go/firestore"
)

// DefaultMarkerTTL is how long a marker lives where the worker is not told otherwise.
const DefaultMarkerTTL = 840 * time.Hour

// An AuditReport compares a counter's markers with its shards, both at ReadTime.
type AuditReport struct {
	Counter  string       `json:"counter"`
	ReadTime time.Time    `json:"readTime"`
	OK       bool         `json:"ok"`
	Markers  int64        `json:"markers"` // the sealed ones, and those found beyond them
	Count    int64        `json:"count"`
	Drift    int64        `json:"drift"` // Count - Markers - Unknown: above 0, without a marker
	Shards   []AuditShard `json:"shards"`
	Days     []AuditDay   `json:"days"`

	Sealed   int64      `json:"sealed"`   // of Markers: verified by an earlier audit
	SealedTo *time.Time `json:"sealedTo"` // they were created up to then; nil: nothing is sealed
	Unknown  int64      `json:"unknown"`  // counted; whether with a marker, its expiry hides
	Present  int64      `json:"present"`  // marker documents of the counter
	Expired  int64      `json:"expired"`  // of them, older than the marker TTL
	Strays   int64      `json:"strays"`   // of them, naming no shard of the counter or no time

	reading *Reading
	seal    seal
	ttl     time.Duration // the shortest that may have been in force
	seenTTL time.Duration // by the newest markers; 0: there are none
	margin  time.Duration // sealMargin, but in tests
}

// An AuditShard is the audit of one shard.
type AuditShard struct {
	Shard   int   `json:"shard"`
	Markers int64 `json:"markers"`
	Count   int64 `json:"count"`
	Drift   int64 `json:"drift"`
	Sealed  int64 `json:"sealed"`
	Unknown int64 `json:"unknown"`
	Folded  int64 `json:"folded,omitempty"` // of Count: markers elsewhere; below 0: counts elsewhere
	Beyond  bool  `json:"beyond"`           // the definition has no such shard any more; it counts all the same

	days    map[string]int64 // of its document; nil: there is none
	present int64            // marker documents that name it
	fresh   int64            // of them, created after the sealed part
}

// An AuditDay is the audit of one calendar day.
type AuditDay struct {
	Day     string `json:"day"`
	Markers int64  `json:"markers"`
	Count   int64  `json:"count"`
	Drift   int64  `json:"drift"`
	Sealed  int64  `json:"sealed"`
	Unknown int64  `json:"unknown"`

	fresh int64
}

// Audit is AuditTTL for workers that use DefaultMarkerTTL.
func Audit(ctx context.Context, client *firestore.Client, name string) (*AuditReport, error) {
	return AuditTTL(ctx, client, name, DefaultMarkerTTL)
}

// AuditTTL counts the counter's markers by shard and by day, and compares them with what the
// shards say at the same read time. It takes no locks, writes nothing and gives no false alarm
// while orders flow. ttl is the shortest WORKER_MARKER_TTL that was in force; a marker that shows
// a shorter one is believed.
//
// It costs what Read does and two reads for each 1,000 markers; beyond that one query for each
// day as long as nothing is sealed, and one for each shard and each day with new orders after.
func AuditTTL(
	ctx context.Context, client *firestore.Client, name string, ttl time.Duration,
) (*AuditReport, error) {
	r, s, err := readSealed(ctx, client, name)
	if err != nil {
		return nil, err
	}
	a := newAuditReport(r, s)
	m := markersOf{client: client, name: name}
	if err := a.count(ctx, m, ttl); err != nil {
		return nil, fmt.Errorf("auditing counter %q: %w", name, err)
	}
	if a.seenTTL, err = a.shortestTTL(ctx, m); err != nil {
		return nil, fmt.Errorf("auditing counter %q: %w", name, err)
	}
	a.ttl = ttl
	for _, seen := range []time.Duration{s.TTL, a.seenTTL} {
		if seen > 0 {
			a.ttl = min(a.ttl, seen)
		}
	}
	a.judge()
	if a.OK {
		// The days that no shard knows any more were not compared.
		if err := r.checkDays(); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// newAuditReport has every shard and every day that the documents or the sealed part know, and
// the shards that may come to exist.
func newAuditReport(r *Reading, s seal) *AuditReport {
	a := &AuditReport{Counter: r.Counter, ReadTime: r.ReadTime, Count: r.Total(),
		Shards: []AuditShard{}, Days: []AuditDay{}, reading: r, seal: s,
		margin: sealMargin}
	if !s.UpTo.IsZero() {
		a.SealedTo = &s.UpTo
	}
	shards := map[int]AuditShard{}
	for _, i := range r.shardNumbers() {
		shards[i] = AuditShard{Shard: i}
	}
	for _, d := range r.Shards {
		shards[d.Number] = AuditShard{Shard: d.Number, Count: d.Count, days: d.Days}
	}
	for i, n := range s.Shards {
		sh := shards[i]
		sh.Shard, sh.Sealed = i, n
		shards[i] = sh
	}
	folded := r.Folded()
	for _, i := range slices.Sorted(maps.Keys(shards)) {
		sh := shards[i]
		sh.Folded = folded[i]
		sh.Beyond = i >= r.Definition.Shards
		a.Shards = append(a.Shards, sh)
	}
	days := r.Days()
	for day := range s.Days {
		days[day] += 0
	}
	for _, day := range slices.Sorted(maps.Keys(days)) {
		a.Days = append(a.Days, AuditDay{Day: day, Count: days[day], Sealed: s.Days[day]})
	}
	return a
}

// count counts the markers beyond the sealed part, and all there are.
func (a *AuditReport) count(ctx context.Context, m markersOf, ttl time.Duration) error {
	c := &census{client: m.client, at: a.ReadTime}
	c.count(&a.Present, m.all())
	for i := range a.Shards {
		s := &a.Shards[i]
		c.count(&s.present, m.shard(s.Shard))
		c.count(&a.Expired, m.shard(s.Shard).Where("createdAt", "<", a.ReadTime.Add(-ttl)))
		if a.SealedTo != nil {
			c.count(&s.fresh, after(m.shard(s.Shard), a.seal.UpTo))
		}
	}
	for i := range a.Days {
		a.countDay(c, m, &a.Days[i])
	}
	if err := c.run(ctx); err != nil {
		return err
	}
	a.Strays = a.Present
	for i := range a.Shards {
		s := &a.Shards[i]
		a.Strays -= s.present
		if a.SealedTo == nil {
			s.fresh = s.present
		}
	}
	return nil
}

// countDay counts a day's markers beyond the sealed part. A sealed day without a new order has
// none: one that says so nevertheless is missing in its own day, or its shard differs.
func (a *AuditReport) countDay(c *census, m markersOf, d *AuditDay) {
	if a.SealedTo == nil {
		c.count(&d.fresh, m.day(d.Day))
		return
	}
	if d.Count == d.Sealed {
		return
	}
	for _, s := range a.Shards {
		c.count(&d.fresh, after(m.shardDay(s.Shard, d.Day), a.seal.UpTo))
	}
}
