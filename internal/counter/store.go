package counter

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cloud.google.com/go/firestore"
)

// MaxGroup is the largest group. Firestore takes 500 field transforms of one document in a
// commit (https://cloud.google.com/firestore/quotas), and a group whose orders are all of
// different days needs one for each and one for the count. Measured, nothing is gained beyond 200.
const MaxGroup = 450

// A batch is what one commit writes: the markers of the entries, and their sum to one shard.
type batch struct {
	shard   int
	commit  string // names the group commit, in every marker that it writes
	entries []*entry
}

// days is how many of the batch's orders belong to each calendar day.
func (b *batch) days() map[string]int64 {
	days := map[string]int64{}
	for _, e := range b.entries {
		days[e.day]++
	}
	return days
}

// fireStore is the store of the lanes in Firestore.
type fireStore struct {
	client *firestore.Client
	name   string        // the counter's
	ttl    time.Duration // how long a marker lives
}

// commit implements store. The transaction reads nothing, so it holds no lock before its commit
// and a worker that dies inside it blocks nobody. It is tried once: RunTransaction's own retry
// sleeps for seconds even after its last attempt.
func (s *fireStore) commit(ctx context.Context, b *batch) error {
	err := s.client.RunTransaction(ctx, func(_ context.Context, tx *firestore.Transaction) error {
		return s.write(tx, b)
	}, firestore.MaxAttempts(1))
	if err != nil {
		return fmt.Errorf("committing %d orders to shard %d of %q: %w",
			len(b.entries), b.shard, s.name, err)
	}
	return nil
}

func (s *fireStore) write(tx *firestore.Transaction, b *batch) error {
	var err error
	markers := s.client.Collection(markersCollection)
	for _, e := range b.entries {
		doc := markers.Doc(e.id.String())
		err = errors.Join(err, tx.Create(doc, newMarker(s.name, b.commit, b.shard, e, s.ttl)))
	}
	added := increments(int64(len(b.entries)), map[string]map[string]int64{"days": b.days()})
	return errors.Join(err,
		tx.Set(shardRef(s.client, s.name, b.shard), added, firestore.MergeAll))
}

// markers implements store.
func (s *fireStore) markers(ctx context.Context, ids []EventID) (map[EventID]Marker, error) {
	return Markers(ctx, s.client, ids)
}

// numShards implements store. It costs one read.
func (s *fireStore) numShards(ctx context.Context) (int, error) {
	doc, err := readCounter(ctx, s.client, s.name)
	if err != nil {
		return 0, err
	}
	return doc.def.Shards, nil
}
