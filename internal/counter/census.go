package counter

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"golang.org/x/sync/errgroup"
)

// censusQueries is how many aggregations run at once.
const censusQueries = 16

// A census counts the documents of many queries at one read time.
type census struct {
	client *firestore.Client
	at     time.Time
	jobs   []countJob
}

type countJob struct {
	query firestore.Query
	into  *int64
}

// count has run add the number of q's documents to into, which others may add to as well.
func (c *census) count(into *int64, q firestore.Query) {
	c.jobs = append(c.jobs, countJob{query: q, into: into})
}

// run counts. One read-only transaction serves all queries, since beginning and ending one for
// each costs three times the calls. It costs a read for each 1,000 documents, at least one a query.
func (c *census) run(ctx context.Context) error {
	jobs := c.jobs
	c.jobs = nil
	if len(jobs) == 0 {
		return nil
	}
	return c.client.RunTransaction(ctx, func(ctx context.Context, tx *firestore.Transaction) error {
		g, ctx := errgroup.WithContext(ctx)
		g.SetLimit(censusQueries)
		for _, j := range jobs {
			g.Go(func() error {
				n, err := countOne(ctx, tx, j.query)
				atomic.AddInt64(j.into, n)
				return err
			})
		}
		return g.Wait()
	}, firestore.TransactionReadTime(c.at), firestore.ReadOnly)
}

func countOne(ctx context.Context, tx *firestore.Transaction, q firestore.Query) (int64, error) {
	res, err := q.NewAggregationQuery().WithCount("n").Transaction(tx).Get(ctx)
	if err != nil {
		return 0, fmt.Errorf("counting markers: %w", err)
	}
	v, ok := res["n"].(*firestorepb.Value)
	if !ok {
		return 0, fmt.Errorf("counting markers: the answer is a %T", res["n"])
	}
	return v.GetIntegerValue(), nil
}
