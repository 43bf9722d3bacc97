package counter

import (
	"context"
	"sync"
	"time"

	"cloud.google.com/go/firestore"
	"golang.org/x/sync/errgroup"
)

// judge tells drift from what expiry hides.
//
// A count above the markers is drift where the orders' markers must still be there, and unknown
// where they may have expired. That is a matter of the day: an order of day d has a marker that
// lives at least until the day's beginning and the TTL. A count below the markers is always drift.
func (a *AuditReport) judge() {
	hidden := a.judgeDays()
	a.judgeShards(hidden)
	a.OK = a.Strays == 0
	for _, d := range a.Days {
		a.OK = a.OK && d.Drift == 0
	}
	a.Markers = a.Strays
	for _, s := range a.Shards {
		a.OK = a.OK && s.Drift == 0
		a.Markers += s.Markers
		a.Sealed += s.Sealed
		a.Unknown += s.Unknown
	}
	a.Drift = a.Count - a.Markers - a.Unknown
}

// judgeDays returns what expiry hides, by day.
func (a *AuditReport) judgeDays() map[string]int64 {
	hidden := map[string]int64{}
	for i := range a.Days {
		d := &a.Days[i]
		d.Markers = d.Sealed + d.fresh
		d.Drift = d.Count - d.Markers
		if d.Drift > 0 && a.mayHaveExpired(d.Day) {
			d.Unknown, d.Drift = d.Drift, 0
			hidden[d.Day] = d.Unknown
		}
	}
	return hidden
}

// judgeShards shares what the days hide among the shards that have too few markers and have
// orders of such days.
func (a *AuditReport) judgeShards(hidden map[string]int64) {
	var left int64
	for _, n := range hidden {
		left += n
	}
	for i := range a.Shards {
		s := &a.Shards[i]
		s.Markers = s.Sealed + s.fresh
		s.Drift = s.gap()
		days := a.daysOf(s)
		var most int64
		for day, n := range hidden {
			most += min(n, days[day])
		}
		s.Unknown = max(0, min(s.Drift, most, left))
		s.Drift -= s.Unknown
		left -= s.Unknown
	}
}

// gap is what the shard has counted beyond its markers. Folds move counts from one shard to another
// and leave the markers, and the sealed part, with the shard that they name: that is their term.
func (s *AuditShard) gap() int64 { return s.Count - s.Markers - s.Folded }

// mayHaveExpired reports whether some marker of the day's orders may have expired that is not
// sealed. A day is too coarse for a TTL of hours: there an order counts as younger than its TTL
// when it is of the day in which the unsealed part begins, and that is not half the TTL ago.
func (a *AuditReport) mayHaveExpired(day string) bool {
	def := a.reading.Definition
	start, err := time.ParseInLocation(time.DateOnly, day, def.Location)
	if err != nil || start.Add(a.ttl).After(a.ReadTime) {
		return false
	}
	begin := def.CreatedAt
	if a.SealedTo != nil {
		begin = *a.SealedTo
	}
	return day < Day(begin, def.Location) || a.ReadTime.Sub(begin) >= a.ttl/2
}

// shortestTTL is the shortest marker TTL that the newest marker of each shard shows, or 0 where
// there are none. A marker expires its TTL after its order's acceptance, or later than that: so
// where the time between the two is short, the TTL is; and a late order shows nothing.
func (a *AuditReport) shortestTTL(ctx context.Context, m markersOf) (time.Duration, error) {
	var mu sync.Mutex
	var shortest time.Duration
	err := m.client.RunTransaction(ctx, func(ctx context.Context, tx *firestore.Transaction) error {
		var g errgroup.Group
		g.SetLimit(censusQueries)
		for _, s := range a.Shards {
			g.Go(func() error {
				newest := m.shard(s.Shard).Select("acceptedAt", "expireAt").Limit(1)
				docs, err := tx.Documents(newest).GetAll()
				if err != nil || len(docs) == 0 {
					return err
				}
				ttl := field[time.Time](docs[0], "expireAt").Sub(field[time.Time](docs[0], "acceptedAt"))
				mu.Lock()
				defer mu.Unlock()
				if ttl = max(ttl, time.Millisecond); shortest == 0 || ttl < shortest {
					shortest = ttl
				}
				return nil
			})
		}
		return g.Wait()
	}, firestore.TransactionReadTime(a.ReadTime), firestore.ReadOnly)
	return shortest, err
}
