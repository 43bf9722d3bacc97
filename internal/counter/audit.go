package counter

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"golang.org/x/sync/errgroup"
)

// An AuditReport compares a counter's markers with its shards, both at ReadTime.
type AuditReport struct {
	Counter  string       `json:"counter"`
	ReadTime time.Time    `json:"readTime"`
	OK       bool         `json:"ok"`
	Markers  int64        `json:"markers"`
	Count    int64        `json:"count"`
	Drift    int64        `json:"drift"` // Count - Markers: above 0, counted without a marker
	Shards   []AuditShard `json:"shards"`
	Days     []AuditDay   `json:"days"`
}

// An AuditShard is the audit of one shard.
type AuditShard struct {
	Shard   int   `json:"shard"`
	Markers int64 `json:"markers"`
	Count   int64 `json:"count"`
	Drift   int64 `json:"drift"`
}

// An AuditDay is the audit of one calendar day.
type AuditDay struct {
	Day     string `json:"day"`
	Markers int64  `json:"markers"`
	Count   int64  `json:"count"`
	Drift   int64  `json:"drift"`
}

// auditQueries is how many aggregations run at once.
const auditQueries = 4

// Audit counts the counter's markers by shard and by day, and compares them with what the shards
// say at the same read time. It takes no locks and gives no false alarm while orders flow. It
// costs what Read does, and two reads for each 1,000 markers.
//
// Expired markers that a TTL policy deleted are gone from it: a Drift above 0 is a fault only
// while no marker of the counter has expired.
func Audit(ctx context.Context, client *firestore.Client, name string) (*AuditReport, error) {
	r, err := Read(ctx, client, name)
	if err != nil {
		return nil, err
	}
	a := &AuditReport{Counter: name, ReadTime: r.ReadTime, Count: r.Total()}
	a.Shards = shardsOf(r)
	for day, n := range r.Days() {
		a.Days = append(a.Days, AuditDay{Day: day, Count: n})
	}
	slices.SortFunc(a.Days, func(x, y AuditDay) int { return strings.Compare(x.Day, y.Day) })
	if err := a.countMarkers(ctx, client); err != nil {
		return nil, fmt.Errorf("auditing counter %q: %w", name, err)
	}
	a.judge()
	if a.OK {
		// The days that no shard knows any more were not compared.
		if err := r.checkDays(); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// shardsOf lists the shards that exist and those that may come to exist.
func shardsOf(r *Reading) []AuditShard {
	var shards []AuditShard
	seen := map[int]bool{}
	for _, s := range r.Shards {
		shards = append(shards, AuditShard{Shard: s.Number, Count: s.Count})
		seen[s.Number] = true
	}
	for i := range r.Definition.Shards {
		if !seen[i] {
			shards = append(shards, AuditShard{Shard: i})
		}
	}
	slices.SortFunc(shards, func(x, y AuditShard) int { return cmp.Compare(x.Shard, y.Shard) })
	return shards
}

func (a *AuditReport) countMarkers(ctx context.Context, client *firestore.Client) error {
	all := client.Collection(markersCollection).Where("counter", "==", a.Counter)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(auditQueries)
	count := func(into *int64, q firestore.Query) {
		g.Go(func() (err error) {
			*into, err = countAt(ctx, client, q, a.ReadTime)
			return err
		})
	}
	count(&a.Markers, all)
	for i := range a.Shards {
		count(&a.Shards[i].Markers, all.Where("shard", "==", a.Shards[i].Shard))
	}
	for i := range a.Days {
		count(&a.Days[i].Markers, all.Where("day", "==", a.Days[i].Day))
	}
	return g.Wait()
}

// countAt counts the documents of q at a read time.
func countAt(
	ctx context.Context, client *firestore.Client, q firestore.Query, at time.Time,
) (int64, error) {
	var res firestore.AggregationResult
	err := client.RunTransaction(ctx, func(ctx context.Context, tx *firestore.Transaction) error {
		var err error
		res, err = q.NewAggregationQuery().WithCount("n").Transaction(tx).Get(ctx)
		return err
	}, firestore.TransactionReadTime(at), firestore.ReadOnly)
	if err != nil {
		return 0, err
	}
	v, ok := res["n"].(*firestorepb.Value)
	if !ok {
		return 0, fmt.Errorf("counting markers: the answer is a %T", res["n"])
	}
	return v.GetIntegerValue(), nil
}

// judge computes the drifts. What no shard and no day accounts for shows in the whole.
func (a *AuditReport) judge() {
	a.Drift = a.Count - a.Markers
	a.OK = a.Drift == 0
	for i := range a.Shards {
		s := &a.Shards[i]
		s.Drift = s.Count - s.Markers
		a.OK = a.OK && s.Drift == 0
	}
	for i := range a.Days {
		d := &a.Days[i]
		d.Drift = d.Count - d.Markers
		a.OK = a.OK && d.Drift == 0
	}
}
