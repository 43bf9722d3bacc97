package counter

import (
	"strconv"
	"time"

	"cloud.google.com/go/firestore"
)

func counterRef(client *firestore.Client, name string) *firestore.DocumentRef {
	return client.Collection(countersCollection).Doc(name)
}

func shardsOf(client *firestore.Client, name string) *firestore.CollectionRef {
	return counterRef(client, name).Collection(shardsCollection)
}

func shardRef(client *firestore.Client, name string, shard int) *firestore.DocumentRef {
	return shardsOf(client, name).Doc(strconv.Itoa(shard))
}

// unchangedSince is the condition that nobody wrote the document since then. The server's times
// are whole microseconds in a precondition.
func unchangedSince(updated time.Time) firestore.Precondition {
	return firestore.LastUpdateTime(updated.Truncate(time.Microsecond))
}

// increments is what a merge adds to a shard document, which may be missing. A map without an entry
// is left out: it would replace the one that is there.
func increments(count int64, maps map[string]map[string]int64) map[string]any {
	out := map[string]any{"count": firestore.Increment(count)}
	for name, entries := range maps {
		if len(entries) == 0 {
			continue
		}
		added := map[string]any{}
		for key, n := range entries {
			added[key] = firestore.Increment(n)
		}
		out[name] = added
	}
	return out
}

// byName is numbers by shard as a document holds them.
func byName(shards map[int]int64) map[string]int64 {
	out := make(map[string]int64, len(shards))
	for shard, n := range shards {
		out[strconv.Itoa(shard)] = n
	}
	return out
}

// byShard reads such numbers, which may be missing.
func (f *fields) byShard(name string) map[int]int64 {
	shards := map[int]int64{}
	for id, n := range f.integers(name) {
		shard, err := strconv.Atoi(id)
		if err != nil {
			f.fail("%s.%s is no number of a shard", name, id)
		}
		shards[shard] = n
	}
	return shards
}
