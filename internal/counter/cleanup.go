package counter

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cloud.google.com/go/firestore"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	// cleanupBatch is how many markers one look takes, and at most one commit deletes.
	cleanupBatch = 300

	// cleanupTries is how often a batch is looked at again that somebody else has changed.
	cleanupTries = 5

	// cleanupTimeout bounds one look and its commit.
	cleanupTimeout = 30 * time.Second
)

// ErrNothingSealed means that no audit has sealed a part of the counter yet.
var ErrNothingSealed = errors.New("no audit has sealed anything yet")

// ErrUnsafe means that a cleanup would delete markers that redeliveries may still need.
var ErrUnsafe = errors.New("not safe to delete")

// A Cleanup deletes the expired markers of a counter, for a database without a TTL policy.
type Cleanup struct {
	Counter string `json:"counter"`
	Deleted int64  `json:"deleted"`
	Kept    int64  `json:"kept"` // as old, but not expired

	client *firestore.Client
	cutoff time.Time // markers that were created later are not looked at
	now    time.Time // by the server's clock
	shards []int
}

// NewCleanup prepares to delete the markers that have expired and were created more than
// olderThan ago. It never looks beyond the sealed part, so that an audit still knows what the
// markers counted; without one it returns ErrNothingSealed. It returns ErrUnsafe when the newest
// markers of that age have not expired: then olderThan is less than a marker lives.
func NewCleanup(
	ctx context.Context, client *firestore.Client, name string, olderThan time.Duration,
) (*Cleanup, error) {
	r, s, err := readSealed(ctx, client, name)
	if err != nil {
		return nil, err
	}
	if s.UpTo.IsZero() {
		return nil, fmt.Errorf("%w of %q", ErrNothingSealed, name)
	}
	c := &Cleanup{Counter: name, client: client, now: r.ReadTime,
		cutoff: r.ReadTime.Add(-olderThan), shards: r.shardNumbers()}
	if s.UpTo.Before(c.cutoff) {
		c.cutoff = s.UpTo
	}
	for _, shard := range c.shards {
		if err := c.check(ctx, shard, olderThan); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// check refuses an age at which the shard's markers have not expired.
func (c *Cleanup) check(ctx context.Context, shard int, olderThan time.Duration) error {
	docs, err := c.candidates(shard).Limit(1).Documents(ctx).GetAll()
	if err != nil {
		return fmt.Errorf("reading the markers of shard %d of %q: %w", shard, c.Counter, err)
	}
	if len(docs) == 0 || c.expired(docs[0]) {
		return nil
	}
	expires := field[time.Time](docs[0], "expireAt")
	lives := expires.Sub(field[time.Time](docs[0], "createdAt")).Truncate(time.Hour) + time.Hour
	return fmt.Errorf("%w: of the markers older than %v, %s of shard %d lives until %s; until then "+
		"a redelivery of its order would be counted again: want %v or more", ErrUnsafe, olderThan,
		docs[0].Ref.ID, shard, expires.UTC().Format(time.RFC3339), lives)
}

// candidates is the shard's markers of that age, the newest first.
func (c *Cleanup) candidates(shard int) firestore.Query {
	return markersOf{client: c.client, name: c.Counter}.shard(shard).
		OrderBy(firestore.DocumentID, firestore.Desc).
		Where("createdAt", "<=", c.cutoff).Select("createdAt", "expireAt")
}

// expired is false for a marker that does not say when it expires.
func (c *Cleanup) expired(d *firestore.DocumentSnapshot) bool {
	at := field[time.Time](d, "expireAt")
	return !at.IsZero() && !at.After(c.now)
}

// Run deletes batch by batch and calls progress after each. It may be stopped at any time, run
// again, and run twice at once.
func (c *Cleanup) Run(ctx context.Context, progress func(shard int)) error {
	for _, shard := range c.shards {
		q := c.candidates(shard).Limit(cleanupBatch)
		for next := q; ; {
			last, err := c.batch(ctx, next)
			if err != nil {
				return fmt.Errorf("cleaning up shard %d of %q: %w", shard, c.Counter, err)
			}
			if last == nil {
				break
			}
			progress(shard)
			next = q.StartAfter(field[time.Time](last, "createdAt"), last.Ref.ID)
		}
	}
	return nil
}

// batch deletes what has expired of the query's documents, and returns the last one of them or,
// when there are none, nil.
func (c *Cleanup) batch(
	ctx context.Context, q firestore.Query,
) (*firestore.DocumentSnapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, cleanupTimeout)
	defer cancel()
	for try := 1; ; try++ {
		docs, err := q.Documents(ctx).GetAll()
		if err != nil || len(docs) == 0 {
			return nil, err
		}
		n, err := c.delete(ctx, docs)
		switch status.Code(err) {
		case codes.OK:
			c.Deleted += n
			c.Kept += int64(len(docs)) - n
			return docs[len(docs)-1], nil
		case codes.FailedPrecondition, codes.NotFound, codes.Aborted: // somebody else deletes too
			if try < cleanupTries {
				continue
			}
		}
		return nil, err
	}
}

// delete deletes those of the markers that have expired, as they were read: one that was deleted
// meanwhile and written anew by a late order stays.
func (c *Cleanup) delete(ctx context.Context, docs []*firestore.DocumentSnapshot) (int64, error) {
	var n int64
	err := c.client.RunTransaction(ctx, func(_ context.Context, tx *firestore.Transaction) error {
		var err error
		for _, d := range docs {
			if c.expired(d) {
				n++
				err = errors.Join(err, tx.Delete(d.Ref, unchangedSince(d.UpdateTime)))
			}
		}
		return err
	}, firestore.MaxAttempts(1))
	return n, err
}
