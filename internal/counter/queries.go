package counter

import (
	"time"

	"cloud.google.com/go/firestore"
)

// A NamedQuery is one of the queries that the programs make, with what it needs of the database.
// deploy/firestore.indexes.json has what the named queries need, and no other index.
type NamedQuery struct {
	Name       string
	Owner      string       // the commands that make it
	Collection string       // the collection group
	Composite  []IndexField // its composite index; nil: none
	Single     []string     // the fields whose automatic index it uses
}

// An IndexField is one field of a composite index.
type IndexField struct {
	Path       string
	Descending bool
}

// An Exemption is a field without a single-field index.
type Exemption struct {
	Collection string // the collection group
	Field      string
	TTL        bool // the field of the collection's TTL policy
	Why        string
}

const (
	growing   = "grows with time: an index of it takes 500 writes a second, however many shards"
	unqueried = "nobody queries it"
)

// Queries lists the named queries.
//
// A composite index begins with the counter and the shard, so that new markers go to as many
// places of the index as there are shards. One on (counter, createdAt) alone would have a single
// moving edge, which takes 500 writes a second
// (https://firebase.google.com/docs/firestore/solutions/shard-timestamp).
func Queries() []NamedQuery {
	newest := IndexField{Path: "createdAt", Descending: true}
	return []NamedQuery{
		{Name: "markers", Owner: "rollup audit", Collection: markersCollection,
			Single: []string{"counter"}},
		{Name: "markersOfDay", Owner: "rollup audit, while nothing is sealed",
			Collection: markersCollection, Single: []string{"counter", "day"}},
		{Name: "markersOfShard", Owner: "rollup audit, recent, cleanup",
			Collection: markersCollection,
			Composite:  []IndexField{{Path: "counter"}, {Path: "shard"}, newest}},
		{Name: "markersOfShardAndDay", Owner: "rollup audit, recent -day",
			Collection: markersCollection,
			Composite:  []IndexField{{Path: "counter"}, {Path: "shard"}, {Path: "day"}, newest}},
	}
}

// Exemptions lists the fields that are not indexed on their own: those that grow with time, and
// the other fields of a marker that no named query uses.
func Exemptions() []Exemption {
	return []Exemption{
		{Collection: countersCollection, Field: sealField, Why: growing},
		{Collection: shardsCollection, Field: "count", Why: growing},
		{Collection: shardsCollection, Field: "days", Why: growing},
		{Collection: shardsCollection, Field: "folded", Why: growing},
		{Collection: markersCollection, Field: "acceptedAt", Why: growing},
		{Collection: markersCollection, Field: "createdAt", Why: growing},
		{Collection: markersCollection, Field: "expireAt", TTL: true, Why: growing},
		{Collection: markersCollection, Field: "orderId", Why: growing},
		{Collection: markersCollection, Field: "messageId", Why: growing},
		{Collection: markersCollection, Field: "commit", Why: growing},
		{Collection: markersCollection, Field: "kind", Why: unqueried},
		{Collection: markersCollection, Field: "schemaVersion", Why: unqueried},
		{Collection: markersCollection, Field: "shard", Why: unqueried},
		{Collection: markersCollection, Field: "source", Why: unqueried},
	}
}

// markersOf makes the named queries about one counter.
type markersOf struct {
	client *firestore.Client
	name   string
}

func (m markersOf) all() firestore.Query {
	return m.client.Collection(markersCollection).Where("counter", "==", m.name)
}

func (m markersOf) day(day string) firestore.Query { return m.all().Where("day", "==", day) }

// shard is the markers of a shard, the newest first. The order is part of the query also where
// they are only counted: so it is served by the one index.
func (m markersOf) shard(shard int) firestore.Query {
	return newestFirst(m.all().Where("shard", "==", shard))
}

func (m markersOf) shardDay(shard int, day string) firestore.Query {
	return newestFirst(m.all().Where("shard", "==", shard).Where("day", "==", day))
}

func newestFirst(q firestore.Query) firestore.Query {
	return q.OrderBy("createdAt", firestore.Desc)
}

// after keeps those markers of q that were created after t. The zero time keeps all.
func after(q firestore.Query, t time.Time) firestore.Query {
	if t.IsZero() {
		return q
	}
	return q.Where("createdAt", ">", t)
}
