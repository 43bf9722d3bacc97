package counter

import (
	"context"
	"errors"
	"fmt"

	"cloud.google.com/go/firestore"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	reshardsCollection = "reshards"
	foldsCollection    = "folds"
)

// Reshard sets the counter's number of shards, 1 to MaxShards, and returns what it was. It records
// both numbers and who asked, in the same commit. Orders may flow: workers follow by themselves,
// and what a shard beyond the new number has counted, or a worker that is late still counts there,
// counts on. Of two calls at once each applies, one after the other. Where the number is as wanted
// it writes nothing.
func Reshard(
	ctx context.Context, client *firestore.Client, name string, shards int, by string,
) (was int, err error) {
	if shards < 1 || shards > MaxShards {
		return 0, fmt.Errorf("resharding %q to %d: want 1 to %d", name, shards, MaxShards)
	}
	for pause := (backoff{}); ; {
		doc, err := readCounter(ctx, client, name)
		if err != nil || doc.def.Shards == shards {
			return shards, err
		}
		err = writeReshard(ctx, client, name, doc, shards, by)
		if err == nil {
			return doc.def.Shards, nil
		}
		if !repeatable(err) || pause.wait(ctx) != nil {
			return 0, fmt.Errorf("resharding %q to %d: %w", name, shards, err)
		}
	}
}

// writeReshard writes on the condition that the counter document is as doc has it: a rollup or
// another reshard in between makes it fail, and nobody waits for a lock.
func writeReshard(
	ctx context.Context, client *firestore.Client, name string, doc *counterDoc, shards int,
	by string,
) error {
	ref := counterRef(client, name)
	return client.RunTransaction(ctx, func(_ context.Context, tx *firestore.Transaction) error {
		err := tx.Update(ref, []firestore.Update{{Path: "numShards", Value: shards}},
			unchangedSince(doc.updated))
		return errors.Join(err, tx.Create(ref.Collection(reshardsCollection).NewDoc(),
			map[string]any{"from": doc.def.Shards, "to": shards,
				"at": firestore.ServerTimestamp, "by": by}))
	}, firestore.MaxAttempts(1))
}

// repeatable reports whether a conditional write that failed may be tried on what is there then:
// somebody else was faster, or its outcome is not known and the condition tells.
func repeatable(err error) bool {
	switch status.Code(err) {
	case codes.FailedPrecondition, codes.NotFound:
		return true
	}
	return judge(err) != misplaced
}
