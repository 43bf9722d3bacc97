package counter

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"cloud.google.com/go/firestore"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	repairsCollection = "repairs"

	// repairsField of the counter document is the number of its repairs, as an audit read it: the
	// next repair has the next number, and two from one state have the same.
	repairsField = "repairs"
)

// A Repair is what makes the shards agree with the markers: numbers to add to what they count.
type Repair struct {
	Number int64         `json:"number"` // the name of its record
	Drift  int64         `json:"drift"`  // of the whole, before it
	Shards []ShardRepair `json:"shards"`

	counter  string
	readTime time.Time
	there    map[int]bool // the shards that have a document
}

// A ShardRepair is what to add to one shard.
type ShardRepair struct {
	Shard int              `json:"shard"`
	Count int64            `json:"count"`
	Days  map[string]int64 `json:"days"`

	// Folded is to add to what the document says of the shards that were folded into it.
	Folded map[int]int64 `json:"folded,omitempty"`
}

// ErrUnrepairable means that an audit found what no repair can set right.
var ErrUnrepairable = errors.New("cannot be repaired")

// Repair returns what would make the shards agree with the markers again, or nil where nothing has
// drifted. It never counts on what expiry hides: while an order's marker may have expired, the
// count of it may be right.
func (a *AuditReport) Repair(ctx context.Context, client *firestore.Client) (*Repair, error) {
	if a.Unknown > 0 {
		return nil, fmt.Errorf("%q %w: whether %d orders were counted with a marker, its expiry hides",
			a.Counter, ErrUnrepairable, a.Unknown)
	}
	number, err := a.reading.repairs()
	if err != nil {
		return nil, err
	}
	days, err := a.dayDrifts(ctx, client)
	if err != nil {
		return nil, err
	}
	shards := repairs{}
	for _, s := range a.Shards {
		shards.count(a.documentOf(s), s.Shard, -s.Drift)
	}
	for day, drifts := range days {
		for _, family := range a.families() {
			shards.day(day, family, drifts)
		}
	}
	if len(shards) == 0 {
		return nil, nil
	}
	p := &Repair{Number: number + 1, Drift: a.Drift, Shards: shards.sorted(), counter: a.Counter,
		readTime: a.ReadTime, there: map[int]bool{}}
	for _, s := range a.reading.Shards {
		p.there[s.Number] = true
	}
	return p, nil
}

// dayDrifts finds the shards that a day's drift is in: by their own markers of the day, which are
// all there while the day is young. They are by day and by shard.
func (a *AuditReport) dayDrifts(
	ctx context.Context, client *firestore.Client,
) (map[string]map[int]int64, error) {
	m := markersOf{client: client, name: a.Counter}
	c := &census{client: client, at: a.ReadTime}
	markers := map[string][]int64{}
	for _, d := range a.Days {
		if d.Drift == 0 {
			continue
		}
		markers[d.Day] = make([]int64, len(a.Shards))
		for i, s := range a.Shards {
			c.count(&markers[d.Day][i], m.shardDay(s.Shard, d.Day))
		}
	}
	if err := c.run(ctx); err != nil {
		return nil, fmt.Errorf("finding the drift of %q: %w", a.Counter, err)
	}
	drifts := map[string]map[int]int64{}
	for _, d := range a.Days {
		if d.Drift == 0 {
			continue
		}
		drifts[d.Day] = map[int]int64{}
		var sum int64
		for i, s := range a.Shards {
			drift := s.days[d.Day] - markers[d.Day][i]
			drifts[d.Day][s.Shard] = drift
			sum += drift
		}
		if sum != d.Drift {
			return nil, fmt.Errorf("%q %w: the markers do not tell in which shard %s is off by %+d",
				a.Counter, ErrUnrepairable, d.Day, d.Drift)
		}
	}
	return drifts, nil
}

// Apply adds the repair to the shards and records it, in one commit. It adds to what is there, so
// it never undoes an order that is counted meanwhile; and it creates its record under a number
// that was free when the audit read, so of two repairs at once one is applied. It reports whether
// this one was.
func (p *Repair) Apply(
	ctx context.Context, client *firestore.Client, by string,
) (applied bool, err error) {
	ref := counterRef(client, p.counter)
	record := ref.Collection(repairsCollection).Doc(recordName(p.Number))
	nonce := nonces()()
	err = client.RunTransaction(ctx, func(_ context.Context, tx *firestore.Transaction) error {
		err := errors.Join(
			tx.Create(record, p.record(by, nonce)),
			tx.Update(ref, []firestore.Update{{Path: repairsField, Value: p.Number}}))
		for _, s := range p.Shards {
			shard := shardRef(client, p.counter, s.Shard)
			if p.there[s.Shard] { // unless it was folded away meanwhile: then the repair fails
				err = errors.Join(err, tx.Update(shard, s.updates()))
			} else {
				err = errors.Join(err, tx.Set(shard, s.increments(), firestore.MergeAll))
			}
		}
		return err
	}, firestore.MaxAttempts(1))
	if status.Code(err) != codes.AlreadyExists {
		if err != nil {
			err = fmt.Errorf("repairing %q, which may have been applied all the same: %w",
				p.counter, err)
		}
		return err == nil, err
	}
	// The client repeats a commit whose answer was lost: then the record that is there is ours.
	snap, err := record.Get(ctx)
	if err != nil {
		return false, fmt.Errorf("reading repair %d of %q: %w", p.Number, p.counter, err)
	}
	return field[string](snap, "commit") == nonce, nil
}

func (p *Repair) record(by, nonce string) map[string]any {
	shards := map[string]any{}
	for _, s := range p.Shards {
		shards[strconv.Itoa(s.Shard)] = s.record()
	}
	return map[string]any{"kind": "repair", "by": by, "at": firestore.ServerTimestamp,
		"readTime": p.readTime, "drift": p.Drift, "shards": shards, "commit": nonce,
		"schemaVersion": SchemaVersion}
}

// recordAccepted records who took the word of the counts for orders whose markers are gone, and
// returns what the counter document is to say of it.
func (a *AuditReport) recordAccepted(
	tx *firestore.Transaction, client *firestore.Client, by string,
) ([]firestore.Update, error) {
	number, err := a.reading.repairs()
	if err != nil {
		return nil, err
	}
	number++
	shards := map[string]any{}
	for _, s := range a.Shards {
		if s.Unknown > 0 {
			shards[strconv.Itoa(s.Shard)] = map[string]any{"unknown": s.Unknown}
		}
	}
	record := counterRef(client, a.Counter).Collection(repairsCollection).Doc(recordName(number))
	return []firestore.Update{{Path: repairsField, Value: number}},
		tx.Create(record, map[string]any{"kind": "accept", "by": by, "at": firestore.ServerTimestamp,
			"readTime": a.ReadTime, "unknown": a.Unknown, "shards": shards,
			"schemaVersion": SchemaVersion})
}

// recordName sorts as the numbers do.
func recordName(n int64) string { return fmt.Sprintf("%06d", n) }

// repairs is the number of repairs that the counter document knows.
func (r *Reading) repairs() (int64, error) {
	if _, there := r.data[repairsField]; !there {
		return 0, nil
	}
	f := fields{path: countersCollection + "/" + r.Counter, data: r.data}
	return f.integer(repairsField), f.err
}
