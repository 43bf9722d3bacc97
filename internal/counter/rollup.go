package counter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"cloud.google.com/go/firestore"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// ErrRaced means that somebody else wrote the counter document since it was read.
var ErrRaced = errors.New("the counter document changed meanwhile")

// A Rollup is the stale-tolerant total that the counter document carries.
type Rollup struct {
	Total     int64     // every order ever counted, at AsOf
	Today     DayTotal  // the orders of one calendar day, at AsOf
	AsOf      time.Time // the read time that the totals are exact for; zero: never rolled up
	At        time.Time // when it was written, server time
	LagMs     int64     // AsOf minus the AsOf that it replaced, in milliseconds
	LagEvents int64     // Total minus the Total that it replaced, in orders
	Shards    int64     // the shard documents that were read
}

// A DayTotal is the number of orders of one calendar day.
type DayTotal struct {
	Day   string `json:"day"`
	Total int64  `json:"total"`
}

func (f *fields) rollup() Rollup {
	if _, rolledUp := f.data["rollupAsOf"]; !rolledUp {
		return Rollup{}
	}
	r := Rollup{
		Total:     f.integer("rollupTotal"),
		AsOf:      f.time("rollupAsOf"),
		At:        f.time("rollupAt"),
		LagMs:     f.integer("rollupLagMs"),
		LagEvents: f.integer("rollupLagEvents"),
		Shards:    f.integer("rollupShards"),
	}
	today, ok := f.data["rollupToday"].(map[string]any)
	if !ok {
		f.fail("rollupToday is %s, want a map", describe(f.data, "rollupToday"))
		return r
	}
	inner := fields{path: f.path + " rollupToday", data: today}
	r.Today = DayTotal{Day: inner.str("day"), Total: inner.integer("total")}
	if f.err == nil {
		f.err = inner.err
	}
	return r
}

// DayTotals returns what counters/{counter}/days holds of the given days: a read for each.
func DayTotals(
	ctx context.Context, client *firestore.Client, name string, days map[string]int64,
) (map[string]int64, error) {
	col := counterRef(client, name).Collection(daysCollection)
	var refs []*firestore.DocumentRef
	for day := range days {
		refs = append(refs, col.Doc(day))
	}
	totals := map[string]int64{}
	for chunk := range slices.Chunk(refs, readChunk) {
		snaps, err := client.GetAll(ctx, chunk)
		if err != nil {
			return nil, fmt.Errorf("reading %d days of %q: %w", len(chunk), name, err)
		}
		for _, s := range snaps {
			if n, ok := s.Data()["total"].(int64); ok && s.Exists() {
				totals[s.Ref.ID] = n // a document of another form is as good as none: rewrite it
			}
		}
	}
	return totals, nil
}

// SaveRollup writes the rollup and the given days in one commit, on the condition that the
// counter document is as r read it; else it writes nothing and returns ErrRaced. It takes no
// lock, so neither a writer nor another rollup ever waits for it.
func SaveRollup(
	ctx context.Context, client *firestore.Client, r *Reading, next Rollup, days map[string]int64,
) error {
	ref := counterRef(client, r.Counter)
	err := client.RunTransaction(ctx, func(_ context.Context, tx *firestore.Transaction) error {
		err := tx.Update(ref, []firestore.Update{
			{Path: "rollupTotal", Value: next.Total},
			{Path: "rollupToday", Value: map[string]any{
				"day": next.Today.Day, "total": next.Today.Total}},
			{Path: "rollupAsOf", Value: next.AsOf},
			{Path: "rollupAt", Value: firestore.ServerTimestamp},
			{Path: "rollupLagMs", Value: next.LagMs},
			{Path: "rollupLagEvents", Value: next.LagEvents},
			{Path: "rollupShards", Value: next.Shards},
		}, unchangedSince(r.updated))
		for day, total := range days {
			dayRef := ref.Collection(daysCollection).Doc(day)
			err = errors.Join(err, tx.Set(dayRef, map[string]any{
				"total": total, "asOf": next.AsOf}))
		}
		return err
	}, firestore.MaxAttempts(1))
	switch status.Code(err) {
	case codes.OK:
		return nil
	case codes.FailedPrecondition, codes.Aborted:
		return fmt.Errorf("writing the rollup of %q: %w", r.Counter, ErrRaced)
	}
	return fmt.Errorf("writing the rollup of %q: %w", r.Counter, err)
}

// Refresh reads the counter document again, and leaves the shards as they were read.
func (r *Reading) Refresh(ctx context.Context, client *firestore.Client) error {
	doc, err := readCounter(ctx, client, r.Counter)
	if err != nil {
		return err
	}
	r.Definition, r.Rollup, r.updated, r.data = doc.def, doc.rollup, doc.updated, doc.data
	return nil
}

// ErrNeverRolledUp means that a counter has no total yet.
var ErrNeverRolledUp = errors.New("the counter was never rolled up")

// RollupAge returns how far the last rollup's AsOf lies back, by the server's clock. It costs one
// read.
func RollupAge(
	ctx context.Context, client *firestore.Client, name string,
) (time.Duration, error) {
	doc, err := readCounter(ctx, client, name)
	if err != nil {
		return 0, err
	}
	if doc.rollup.AsOf.IsZero() {
		return 0, fmt.Errorf("%w: %q", ErrNeverRolledUp, name)
	}
	return doc.readTime.Sub(doc.rollup.AsOf), nil
}
