package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"cloud.google.com/go/firestore"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/atlasmart/ordertally/internal/counter"
)

const (
	shards   = 10
	patience = 20 * time.Second // for one stage: a lock wait on the emulator takes two seconds
	callers  = 4000             // as many as the worker's messages in flight
)

func order(i int, at time.Time) counter.Order {
	return counter.Order{ID: "ord-" + strconv.Itoa(i), AcceptedAt: at, PublishedAt: at,
		MessageID: strconv.Itoa(1_000_000 + i)}
}

// marker is the document that every stage writes for an order: the product's.
func marker(name string, o counter.Order) map[string]any {
	return map[string]any{
		"counter": name, "kind": counter.KindAccepted, "orderId": o.ID, "shard": 1,
		"day": "2026-11-30", "acceptedAt": o.AcceptedAt, "createdAt": firestore.ServerTimestamp,
		"expireAt": o.AcceptedAt.Add(840 * time.Hour), "commit": "0123456789abcdef-1",
		"messageId": o.MessageID, "schemaVersion": 1,
	}
}

func increment(n int) map[string]any {
	return map[string]any{"count": firestore.Increment(n),
		"days": map[string]any{"2026-11-30": firestore.Increment(n)}}
}

func (r *round) shard(name string, i int) *firestore.DocumentRef {
	return r.fs.Doc(fmt.Sprintf("counters/%s/shards/%d", name, i%shards))
}

func (r *round) markerRef(id string) *firestore.DocumentRef {
	return r.fs.Collection("counterEvents").Doc(id)
}

// countOnce is the textbook: one transaction that reads the marker, creates it, and increments a
// shard. A lost race for the marker is a duplicate.
func (r *round) countOnce(ctx context.Context, name string, o counter.Order, i int) error {
	ref := r.markerRef(o.Event(name).String())
	return r.fs.RunTransaction(ctx, func(_ context.Context, tx *firestore.Transaction) error {
		_, err := tx.Get(ref)
		if err == nil {
			return nil
		}
		if status.Code(err) != codes.NotFound {
			return err
		}
		return errors.Join(tx.Create(ref, marker(name, o)),
			tx.Set(r.shard(name, i), increment(1), firestore.MergeAll))
	})
}

func (r *round) textbook(ctx context.Context, n, concurrency int) (record, error) {
	name, now := r.name("textbook"), time.Now()
	rec := record{Mode: "textbook", Concurrency: concurrency, Shards: shards, GroupMax: 1}
	return r.measure(rec, func() (run, error) {
		return drive(ctx, n, concurrency, patience, func(i int) error {
			return r.countOnce(ctx, name, order(i, now), i)
		}), nil
	})
}

// hotDocument increments one document for each order, in one blind write: fast, contended, and
// wrong under redelivery.
func (r *round) hotDocument(ctx context.Context, n, concurrency int) (record, error) {
	doc := r.fs.Collection("counters").Doc(r.name("hot-document"))
	rec := record{Mode: "hot-document", Concurrency: concurrency, Shards: 1, GroupMax: 1}
	return r.measure(rec, func() (run, error) {
		return drive(ctx, n, concurrency, patience, func(int) error {
			_, err := doc.Set(ctx, increment(1), firestore.MergeAll)
			return err
		}), nil
	})
}

// blind commits each order by itself: a create and an increment, without a read.
func (r *round) blind(ctx context.Context, mode string, n, concurrency int,
	id func(name string, o counter.Order) string,
) (record, error) {
	name, now := r.name(mode), time.Now()
	rec := record{Mode: mode, Concurrency: concurrency, Shards: shards, GroupMax: 1}
	return r.measure(rec, func() (run, error) {
		return drive(ctx, n, concurrency, patience, func(i int) error {
			o := order(i, now)
			return r.write(ctx, name, i, []counter.Order{o}, func(o counter.Order) string {
				return id(name, o)
			})
		}), nil
	})
}

func hashed(name string, o counter.Order) string { return o.Event(name).String() }

// sequential names markers by the order id, as a naive design does.
func sequential(name string, o counter.Order) string { return name + "-" + o.ID }

// write commits orders of one shard without a read, in one transaction, as the product does.
func (r *round) write(ctx context.Context, name string, shard int, orders []counter.Order,
	id func(counter.Order) string,
) error {
	return r.fs.RunTransaction(ctx, func(_ context.Context, tx *firestore.Transaction) error {
		var err error
		for _, o := range orders {
			err = errors.Join(err, tx.Create(r.markerRef(id(o)), marker(name, o)))
		}
		return errors.Join(err, tx.Set(r.shard(name, shard), increment(len(orders)), firestore.MergeAll))
	}, firestore.MaxAttempts(1))
}

// raw commits ready-made groups of the product's documents with nothing around it, in bare atomic
// commits: the ceiling of this store.
func (r *round) raw(ctx context.Context, n, size, concurrency int) (record, error) {
	name, now := r.name("raw"), time.Now()
	rec := record{Mode: "raw", Concurrency: concurrency, Shards: shards, GroupMax: size}
	return r.measure(rec, func() (run, error) {
		res := drive(ctx, n/size, concurrency, patience, func(g int) error {
			//lint:ignore SA1019 it is the only bare commit that the client offers.
			batch := r.fs.Batch()
			for i := range size {
				o := order(g*size+i, now)
				batch.Create(r.markerRef(hashed(name, o)), marker(name, o))
			}
			batch.Set(r.shard(name, g), increment(size), firestore.MergeAll)
			_, err := batch.Commit(ctx)
			return err
		})
		return res.each(size), nil
	})
}

// each makes a run of groups one of their orders, each as slow as its group.
func (r run) each(size int) run {
	took := make([]time.Duration, 0, len(r.took)*size)
	for _, d := range r.took {
		for range size {
			took = append(took, d)
		}
	}
	r.took = took
	return r
}

// open starts the product's counter under a new name.
func (r *round) open(ctx context.Context, name string, groupMax int) (*counter.Counter, error) {
	def, _, err := counter.Define(ctx, r.fs, name,
		counter.Definition{Shards: shards, Location: time.UTC})
	if err != nil {
		return nil, err
	}
	return counter.New(r.fs, name, def, counter.Options{GroupMax: groupMax, Linger: linger,
		MarkerTTL: 840 * time.Hour})
}

// group is the product's counter alone.
func (r *round) group(ctx context.Context, mode string, n, groupMax int) (record, error) {
	c, err := r.open(ctx, r.name(mode), groupMax)
	if err != nil {
		return record{}, err
	}
	defer c.Close()
	return r.addAll(ctx, mode, c, n, groupMax)
}

func (r *round) addAll(
	ctx context.Context, mode string, c *counter.Counter, n, groupMax int,
) (record, error) {
	now := time.Now()
	rec := record{Mode: mode, Concurrency: callers, Shards: shards, GroupMax: groupMax}
	return r.measure(rec, func() (run, error) {
		return drive(ctx, n, callers, patience, func(i int) error {
			_, err := c.Add(ctx, order(i, now))
			return err
		}), nil
	})
}

// duplicates counts orders, and then again through a counter that does not remember them.
func (r *round) duplicates(ctx context.Context, n, groupMax int) (record, error) {
	name := r.name("duplicates")
	first, err := r.open(ctx, name, groupMax)
	if err != nil {
		return record{}, err
	}
	defer first.Close()
	if _, err := r.addAll(ctx, "duplicates", first, n, groupMax); err != nil {
		return record{}, err
	}
	again, err := r.open(ctx, name, groupMax)
	if err != nil {
		return record{}, err
	}
	defer again.Close()
	return r.addAll(ctx, "duplicates", again, n, groupMax)
}
