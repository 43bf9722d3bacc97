package counter

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cloud.google.com/go/firestore"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	// SchemaVersion is the version of the documents that this package reads and writes.
	SchemaVersion = 1

	// MaxShards bounds a counter's shards. Beyond it an exact read is slow and dear for nothing:
	// with group commit a shard takes hundreds of orders in a write.
	MaxShards = 1000

	countersCollection = "counters"
	shardsCollection   = "shards"
	daysCollection     = "days"
	markersCollection  = "counterEvents"
)

// ErrNotFound means that a counter's document does not exist.
var ErrNotFound = errors.New("no such counter")

// A Definition says how a counter's orders are spread and when its days begin.
type Definition struct {
	Shards    int            // 1 to MaxShards
	Location  *time.Location // the counter's time zone
	CreatedAt time.Time      // server time; zero in a definition that is only wished for
}

// Define creates the counter as wanted where it is missing, and returns the definition that
// holds: the document's, whatever was wanted, and whether it was created now.
func Define(
	ctx context.Context, client *firestore.Client, name string, want Definition,
) (def Definition, created bool, err error) {
	ref := counterRef(client, name)
	_, err = ref.Create(ctx, map[string]any{
		"numShards":     want.Shards,
		"schemaVersion": SchemaVersion,
		"timeZone":      want.Location.String(),
		"createdAt":     firestore.ServerTimestamp,
	})
	if err != nil && status.Code(err) != codes.AlreadyExists {
		return Definition{}, false, fmt.Errorf("creating counter %q: %w", name, err)
	}
	doc, rerr := readCounter(ctx, client, name)
	if rerr != nil {
		return Definition{}, false, rerr
	}
	return doc.def, err == nil, nil
}

// counterDoc is counters/{counter} as it stood at readTime.
type counterDoc struct {
	def      Definition
	rollup   Rollup
	readTime time.Time
	updated  time.Time
	data     map[string]any // all of it: the audit's fields are read by the audit alone
}

func readCounter(
	ctx context.Context, client *firestore.Client, name string,
) (*counterDoc, error) {
	ref := counterRef(client, name)
	snap, err := ref.Get(ctx)
	if status.Code(err) == codes.NotFound && snap != nil {
		return nil, fmt.Errorf("%w: %q", ErrNotFound, name)
	}
	if err != nil {
		return nil, fmt.Errorf("reading counter %q: %w", name, err)
	}
	f := fields{path: countersCollection + "/" + name, data: snap.Data()}
	doc := &counterDoc{
		def:      f.definition(),
		rollup:   f.rollup(),
		readTime: snap.ReadTime.Truncate(time.Microsecond),
		updated:  snap.UpdateTime,
		data:     snap.Data(),
	}
	if f.err != nil {
		return nil, f.err
	}
	return doc, nil
}

func (f *fields) definition() Definition {
	if v := f.integer("schemaVersion"); f.err == nil && v != SchemaVersion {
		f.fail("schemaVersion is %d, and this program reads %d", v, SchemaVersion)
	}
	shards := f.integer("numShards")
	if f.err == nil && (shards < 1 || shards > MaxShards) {
		f.fail("numShards is %d, want 1 to %d", shards, MaxShards)
	}
	zone := f.str("timeZone")
	loc, err := time.LoadLocation(zone)
	if f.err == nil && (err != nil || zone == "" || zone == "Local") {
		f.fail("timeZone is %q, want a name of the IANA time zone database", zone)
	}
	return Definition{Shards: int(shards), Location: loc, CreatedAt: f.time("createdAt")}
}
