package main

import (
	"context"
	"math/rand/v2"
	"time"
)

// A stage makes one record or more. A group size of 0 stands for the product's default.
type stage struct {
	name string
	run  func(ctx context.Context, r *round) ([]record, error)
}

// groupDefault is the product's WORKER_GROUP_MAX.
const groupDefault = 200

const (
	// watch is how long a textbook consumer is watched at most.
	watch = 3 * time.Second
	// fall is how long one with 1,000 messages in flight, the client's default, takes to collapse
	// into lock waits of two seconds each: it settles some 900 orders in its first three seconds,
	// and ten a second from the sixth on; after five some still fall. It is measured afterwards, for
	// as long as watch.
	fall = 6 * time.Second
	// feeding is how many streams bring it that many. The client's default is one, which brings far
	// more in production (10 MB/s, https://cloud.google.com/pubsub/quotas), but 1,900 messages a
	// second here: once the Firestore emulator is warm, a textbook consumer keeps up with them, and
	// has a few in flight whatever its limit is.
	feeding = 2
)

func one(rec record, err error) ([]record, error) { return []record{rec}, err }

// A block is stages that are compared with each other. They run one after the other, since the
// emulators grow faster within a round, and slower with what they hold.
type block []stage

// storeBlocks need no Pub/Sub, and can be run against a model too.
func storeBlocks() []block {
	counting := block{{"raw", func(ctx context.Context, r *round) ([]record, error) {
		return one(r.raw(ctx, r.orders(12_000), 200, 4))
	}}}
	for _, c := range []int{16, 64} {
		counting = append(counting, stage{"textbook", func(ctx context.Context, r *round) ([]record, error) {
			return one(r.textbook(ctx, r.orders(1000), c))
		}})
	}
	for _, g := range []int{50, 100, groupDefault} {
		counting = append(counting, stage{"group", func(ctx context.Context, r *round) ([]record, error) {
			return one(r.group(ctx, "group", r.orders(12_000), g))
		}})
	}
	return []block{counting, {
		{"hot-document", func(ctx context.Context, r *round) ([]record, error) {
			return one(r.hotDocument(ctx, r.orders(1000), 16))
		}},
		{"blind", func(ctx context.Context, r *round) ([]record, error) {
			return one(r.blind(ctx, "blind", r.orders(1000), 16, hashed))
		}},
		{"hashed-ids", func(ctx context.Context, r *round) ([]record, error) {
			return one(r.blind(ctx, "hashed-ids", r.orders(1000), 64, hashed))
		}},
		{"sequential-ids", func(ctx context.Context, r *round) ([]record, error) {
			return one(r.blind(ctx, "sequential-ids", r.orders(1000), 64, sequential))
		}},
	}, {
		{"duplicates", func(ctx context.Context, r *round) ([]record, error) {
			return one(r.duplicates(ctx, r.orders(10_000), groupDefault))
		}},
	}, {
		{"idle", func(ctx context.Context, r *round) ([]record, error) {
			return r.idle(ctx, r.orders(50))
		}},
	}}
}

// pubSubBlocks go through both emulators.
func pubSubBlocks() []block {
	return []block{{
		{"textbook-collapse", func(ctx context.Context, r *round) ([]record, error) {
			return one(r.textbookConsumer(ctx, 20_000, 1000, feeding, fall))
		}},
	}, {
		{"idle-consumer", func(ctx context.Context, r *round) ([]record, error) {
			return r.idleConsumers(ctx, r.orders(50))
		}},
	}}
}

// working is the worker beside what it is compared with.
func working() block {
	b := block{
		{"ack-only", func(ctx context.Context, r *round) ([]record, error) {
			return one(r.ackOnly(ctx, r.orders(24_000)))
		}},
		{"end-to-end", func(ctx context.Context, r *round) ([]record, error) {
			return r.endToEnd(ctx, r.orders(24_000), groupDefault)
		}},
		{"three-workers", func(ctx context.Context, r *round) ([]record, error) {
			return one(r.threeWorkers(ctx, r.orders(24_000), groupDefault))
		}},
	}
	for _, t := range []struct{ inFlight, streams int }{
		{16, 1}, {64, 1}, {256, 1}, {64, feeding}, {256, feeding},
	} {
		b = append(b, stage{"textbook-consumer", func(ctx context.Context, r *round) ([]record, error) {
			return one(r.textbookConsumer(ctx, r.orders(2000), t.inFlight, t.streams, 0))
		}})
	}
	return b
}

// shuffled returns the stages in an order of its own, block by block: what one leaves behind in the
// emulators is not always the same other's to bear.
func shuffled(blocks ...block) (all []stage) {
	rand.Shuffle(len(blocks), func(i, j int) { blocks[i], blocks[j] = blocks[j], blocks[i] })
	for _, b := range blocks {
		rand.Shuffle(len(b), func(i, j int) { b[i], b[j] = b[j], b[i] })
		all = append(all, b...)
	}
	return all
}
