package counter

import (
	"context"
	"fmt"
	"slices"
	"time"

	"cloud.google.com/go/firestore"
)

// readChunk is how many documents one read asks for. A request of that many names is about 50 KB,
// far below the 10 MiB that Firestore takes (https://cloud.google.com/firestore/quotas).
const readChunk = 450

// A Marker says that an order is counted, and by which commit.
type Marker struct {
	Commit string // the group commit that wrote it
	Shard  int    // the shard that was incremented with it
	Day    string // the calendar day that it counts for
}

// Markers returns those of the events that are counted: a plain read for each, without a lock.
func Markers(
	ctx context.Context, client *firestore.Client, ids []EventID,
) (map[EventID]Marker, error) {
	ctx = context.WithValue(ctx, masked{}, true)
	col := client.Collection(markersCollection)
	known := map[EventID]Marker{}
	for chunk := range slices.Chunk(ids, readChunk) {
		refs := make([]*firestore.DocumentRef, len(chunk))
		for i, id := range chunk {
			refs[i] = col.Doc(id.String())
		}
		snaps, err := client.GetAll(ctx, refs)
		if err != nil {
			return nil, fmt.Errorf("reading %d markers: %w", len(chunk), err)
		}
		for i, s := range snaps {
			if s.Exists() {
				known[chunk[i]] = parseMarker(s)
			}
		}
	}
	return known, nil
}

// parseMarker is lenient on purpose: a marker counts by being there, whatever became of its
// fields. The audit looks at them. It converts three fields and not the whole document, which is
// most of what a replay costs the worker.
func parseMarker(s *firestore.DocumentSnapshot) Marker {
	return Marker{
		Commit: field[string](s, "commit"),
		Shard:  int(field[int64](s, "shard")),
		Day:    field[string](s, "day"),
	}
}

// field returns a field of the type T, or its zero value.
func field[T any](s *firestore.DocumentSnapshot, name string) T {
	v, _ := s.DataAt(name)
	t, _ := v.(T)
	return t
}

// A markerDocument is a marker as Firestore holds it. It is a struct and no map, which the client
// would take half as long again to convert: an eighth of what an order costs the worker.
type markerDocument struct {
	Counter       string    `firestore:"counter"`
	Kind          string    `firestore:"kind"`
	Source        string    `firestore:"source,omitempty"`
	OrderID       string    `firestore:"orderId"`
	Shard         int       `firestore:"shard"`
	Day           string    `firestore:"day"`
	AcceptedAt    time.Time `firestore:"acceptedAt"`
	CreatedAt     time.Time `firestore:"createdAt,serverTimestamp"`
	ExpireAt      time.Time `firestore:"expireAt"`
	Commit        string    `firestore:"commit"`
	MessageID     string    `firestore:"messageId"`
	SchemaVersion int       `firestore:"schemaVersion"`
}

func newMarker(counter, commit string, shard int, e *entry, ttl time.Duration) *markerDocument {
	o := e.order
	expire := o.AcceptedAt
	if o.PublishedAt.After(expire) {
		expire = o.PublishedAt
	}
	return &markerDocument{Counter: counter, Kind: KindAccepted, Source: o.Source, OrderID: o.ID,
		Shard: shard, Day: e.day, AcceptedAt: o.AcceptedAt, ExpireAt: expire.Add(ttl),
		Commit: commit, MessageID: o.MessageID, SchemaVersion: SchemaVersion}
}
