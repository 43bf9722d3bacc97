package counter

import (
	"context"
	"fmt"
	"slices"
	"time"

	"cloud.google.com/go/firestore"
)

// Seal keeps in the counter document what the audit has verified, so that a later audit need not
// find those markers again. It returns the number of orders that it added to the sealed part; 0
// where another audit sealed more, or nothing is old enough. An audit that is not clean seals
// nothing. What is unknown is sealed only on the word of somebody, acceptedBy, who is recorded.
func (a *AuditReport) Seal(
	ctx context.Context, client *firestore.Client, acceptedBy string,
) (added int64, err error) {
	if !a.OK || a.Unknown > 0 && acceptedBy == "" {
		return 0, nil
	}
	next, err := a.nextSeal(ctx, client, a.ReadTime.Add(-a.margin))
	if err != nil {
		return 0, fmt.Errorf("sealing %q: %w", a.Counter, err)
	}
	for _, n := range next.Shards {
		added += n
	}
	if added -= a.Sealed; added == 0 {
		return 0, nil
	}
	saved, err := next.save(ctx, client, a.reading, func(tx *firestore.Transaction) (
		[]firestore.Update, error,
	) {
		if a.Unknown == 0 {
			return nil, nil
		}
		return a.recordAccepted(tx, client, acceptedBy)
	})
	if err != nil || !saved {
		return 0, err
	}
	return added, nil
}

// nextSeal is the seal of what was created up to upTo: all markers but the few younger ones. It
// is counted by markers, so that it stays true whatever happens to the shards' counts.
func (a *AuditReport) nextSeal(
	ctx context.Context, client *firestore.Client, upTo time.Time,
) (seal, error) {
	m := markersOf{client: client, name: a.Counter}
	c := &census{client: client, at: a.ReadTime}
	young := make([]int64, len(a.Shards))
	for i, s := range a.Shards {
		c.count(&young[i], after(m.shard(s.Shard), upTo))
	}
	if err := c.run(ctx); err != nil {
		return seal{}, err
	}
	next := seal{UpTo: upTo, AsOf: a.ReadTime, TTL: a.seenTTL, Shards: map[int]int64{},
		Days: map[string]int64{}}
	if next.TTL == 0 {
		next.TTL = a.seal.TTL
	}
	var left int64
	for i, s := range a.Shards {
		next.Shards[s.Shard] = s.Markers + s.Unknown - young[i]
		left += young[i]
	}
	return next, a.sealDays(ctx, c, m, &next, left)
}

// sealDays takes the markers younger than the seal, of which there are left, off their days. It
// looks from the newest day back until it has found them all, which is most often at once.
func (a *AuditReport) sealDays(
	ctx context.Context, c *census, m markersOf, next *seal, left int64,
) error {
	for _, d := range slices.Backward(a.Days) {
		var young int64
		if left > 0 {
			for _, s := range a.Shards {
				c.count(&young, after(m.shardDay(s.Shard, d.Day), next.UpTo))
			}
			if err := c.run(ctx); err != nil {
				return err
			}
		}
		next.Days[d.Day] = d.Markers + d.Unknown - young
		left -= young
	}
	if left != 0 {
		return fmt.Errorf("%d of the newest markers name a day that no shard counts", left)
	}
	return nil
}
