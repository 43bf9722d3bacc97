package counter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"cloud.google.com/go/firestore"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// foldsAtOnce bounds how many shards are folded at once: several of them go into one live shard,
// beside what the workers count there.
const foldsAtOnce = 4

// A Folded is what a call moved from a shard that the counter has no more.
type Folded struct {
	Shard int   `json:"shard"`
	Into  int   `json:"into"`
	Count int64 `json:"count"`
}

// Fold moves what the shards beyond the counter's number have counted into the shards that it has,
// and deletes them. Each is one transaction, so the total is exact at any read time, and whoever
// stops it in the middle only has to call it again. It takes no lock, so it never makes a writer
// wait. A worker that has not followed yet creates its old shard anew, for the next call: until
// then it counts there. On an error the shards that were folded are returned as well.
func Fold(ctx context.Context, client *firestore.Client, name, by string) ([]Folded, error) {
	r, err := Read(ctx, client, name) // and checks every shard: an increment replaces what is none
	if err != nil {
		return nil, err
	}
	f := &folder{client: client, name: name, by: by}
	var mu sync.Mutex
	var all []Folded
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(foldsAtOnce)
	for _, s := range r.Shards {
		if s.Number < r.Definition.Shards {
			continue
		}
		g.Go(func() error {
			done, err := f.fold(ctx, s.Number, s.Number%r.Definition.Shards)
			if err != nil {
				return fmt.Errorf("folding shard %d of %q: %w", s.Number, name, err)
			}
			mu.Lock()
			defer mu.Unlock()
			all = append(all, done)
			return nil
		})
	}
	err = g.Wait()
	slices.SortFunc(all, func(a, b Folded) int { return cmp.Compare(a.Shard, b.Shard) })
	return all, err
}

type folder struct {
	client   *firestore.Client
	name, by string
}

// fold moves one shard, however often it has to begin anew.
func (f *folder) fold(ctx context.Context, shard, into int) (Folded, error) {
	done := Folded{Shard: shard, Into: into}
	for pause := (backoff{}); ; {
		from, updated, err := f.read(ctx, shard)
		if status.Code(err) == codes.NotFound {
			return done, nil // folded, by us or by another call
		}
		if err != nil {
			return done, err
		}
		m := from.part(foldFields)
		err = f.move(ctx, from, updated, into, m)
		if err != nil {
			if !repeatable(err) || pause.wait(ctx) != nil {
				return done, err
			}
			continue
		}
		done.Count += m.count
		if m.whole {
			return done, nil
		}
	}
}

func (f *folder) doc(shard int) *firestore.DocumentRef { return shardRef(f.client, f.name, shard) }

func (f *folder) read(ctx context.Context, shard int) (Shard, time.Time, error) {
	snap, err := f.doc(shard).Get(ctx)
	if err != nil {
		return Shard{}, time.Time{}, err
	}
	s, err := parseShard(f.name, snap.Ref.ID, snap.Data())
	return s, snap.UpdateTime, err
}

// move writes one part on the condition that the shard is as it was read.
func (f *folder) move(ctx context.Context, from Shard, updated time.Time, into int, m move) error {
	return f.client.RunTransaction(ctx, func(_ context.Context, tx *firestore.Transaction) error {
		err := tx.Set(f.doc(into), m.data(), firestore.MergeAll)
		if m.whole {
			err = errors.Join(err, tx.Delete(f.doc(from.Number), unchangedSince(updated)))
		} else {
			err = errors.Join(err, tx.Update(f.doc(from.Number), m.remainder(from),
				unchangedSince(updated)))
		}
		record := counterRef(f.client, f.name).Collection(foldsCollection).NewDoc()
		return errors.Join(err, tx.Create(record, map[string]any{
			"shard": from.Number, "into": into, "count": m.count,
			"at": firestore.ServerTimestamp, "by": f.by}))
	}, firestore.MaxAttempts(1))
}

// Folded returns by how much the count of each shard differs from the number of its markers
// because of folds: what was folded into it, less what was folded out of it. A marker keeps the
// number of the shard that it was counted into, so at any read time, for each shard that a
// document, the definition or this map names:
//
//	count = markers that name the shard + Folded()[shard]
//
// with a count of 0 for a shard whose document is gone.
func (r *Reading) Folded() map[int]int64 {
	net := map[int]int64{}
	for _, s := range r.Shards {
		for origin, n := range s.Folded {
			net[s.Number] += n
			net[origin] -= n
		}
	}
	return net
}
