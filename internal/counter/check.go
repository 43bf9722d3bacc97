package counter

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"cloud.google.com/go/firestore"
)

// maxStart is the largest count that a worker goes on from. An increment stops at the end of int64
// without an error, and what it drops there is lost: half of the range is more than any worker
// can count on top.
const maxStart = 1 << 62

// CheckShards reads the shards that a worker of the definition is about to increment, and returns
// an error that names each one that is not as it must be. An increment silently replaces a field
// that is not a number, so the first commit would hide what the shard was from every reader.
//
// It is for the start, and costs a read for each shard: commits read nothing. A shard that goes
// bad under a running worker is refused by the next rollup, or, where a commit was there before,
// found by the audit.
func CheckShards(
	ctx context.Context, client *firestore.Client, name string, def Definition,
) error {
	refs := make([]*firestore.DocumentRef, def.Shards)
	for i := range refs {
		refs[i] = shardRef(client, name, i)
	}
	var bad error
	for chunk := range slices.Chunk(refs, readChunk) {
		snaps, err := client.GetAll(ctx, chunk)
		if err != nil {
			return fmt.Errorf("checking the shards of %q: %w", name, err)
		}
		for _, s := range snaps {
			if s.Exists() {
				bad = errors.Join(bad, checkShard(name, s.Ref.ID, s.Data()))
			}
		}
	}
	return bad
}

func checkShard(counter, id string, data map[string]any) error {
	s, err := parseShard(counter, id, data)
	if err != nil {
		return err
	}
	most := s.Count
	for _, n := range s.Days {
		most = max(most, n)
	}
	if most > maxStart {
		return fmt.Errorf("%s: holds a count of %d, and a worker starts from at most %d",
			shardPath(counter, id), most, int64(maxStart))
	}
	return nil
}
