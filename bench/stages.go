package main

import (
	"context"
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
	// fall is how long one with the client's default of 1,000 messages in flight takes to collapse
	// into lock waits of two seconds each: it settles some 900 orders in its first three seconds, and
	// a few a second from the sixth or the eighth on. It is measured afterwards, for as long as watch.
	fall = 8 * time.Second
)

func one(rec record, err error) ([]record, error) { return []record{rec}, err }

// storeStages need no Pub/Sub, and can be run against a model too.
func storeStages() []stage {
	stages := []stage{
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
		{"raw", func(ctx context.Context, r *round) ([]record, error) {
			return one(r.raw(ctx, r.orders(12_000), 200, 4))
		}},
		{"duplicates", func(ctx context.Context, r *round) ([]record, error) {
			return one(r.duplicates(ctx, r.orders(10_000), groupDefault))
		}},
	}
	stages = append(stages, stage{"idle", func(ctx context.Context, r *round) ([]record, error) {
		return r.idle(ctx, r.orders(50))
	}})
	for _, c := range []int{16, 64} {
		stages = append(stages, stage{"textbook", func(ctx context.Context, r *round) ([]record, error) {
			return one(r.textbook(ctx, r.orders(1000), c))
		}})
	}
	for _, g := range []int{50, 100, 200} {
		stages = append(stages, stage{"group", func(ctx context.Context, r *round) ([]record, error) {
			return one(r.group(ctx, "group", r.orders(12_000), g))
		}})
	}
	return stages
}

// pubSubStages go through both emulators.
func pubSubStages() []stage {
	stages := []stage{
		{"ack-only", func(ctx context.Context, r *round) ([]record, error) {
			return one(r.ackOnly(ctx, r.orders(12_000), streams))
		}},
		{"ack-only", func(ctx context.Context, r *round) ([]record, error) {
			return one(r.ackOnly(ctx, r.orders(12_000), ackStreams))
		}},
		{"end-to-end", func(ctx context.Context, r *round) ([]record, error) {
			return r.endToEnd(ctx, r.orders(24_000), groupDefault, streams)
		}},
		{"end-to-end", func(ctx context.Context, r *round) ([]record, error) {
			return r.endToEnd(ctx, r.orders(12_000), groupDefault, replayStreams)
		}},
		{"three-workers", func(ctx context.Context, r *round) ([]record, error) {
			return one(r.threeWorkers(ctx, r.orders(24_000), groupDefault))
		}},
		{"textbook-collapse", func(ctx context.Context, r *round) ([]record, error) {
			return one(r.textbookConsumer(ctx, 20_000, 1000, fall))
		}},
		{"idle-consumer", func(ctx context.Context, r *round) ([]record, error) {
			return r.idleConsumers(ctx, r.orders(50))
		}},
	}
	for _, c := range []int{16, 64, 256} {
		stages = append(stages, stage{"textbook-consumer",
			func(ctx context.Context, r *round) ([]record, error) {
				return one(r.textbookConsumer(ctx, r.orders(1000), c, 0))
			}})
	}
	return stages
}
