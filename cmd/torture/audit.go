package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/atlasmart/ordertally/internal/counter"
)

// A sample is what the documents say at one moment.
type sample struct {
	at      time.Time
	count   int64 // the sum of the shards
	markers int64
}

// A driftError is a sample in which shards and markers do not agree.
type driftError sample

func (e driftError) Error() string {
	return fmt.Sprintf("drift %d: the shards say %d and there are %d markers at %s",
		e.count-e.markers, e.count, e.markers, e.at.Format(time.RFC3339Nano))
}

// sampleEvery is from the end of one sample to the next, at least. Counting many markers takes the
// emulator seconds beside a load, which are the workers' too: the rest is as long.
const sampleEvery = 500 * time.Millisecond

// An auditor compares markers and shards again and again. It does so by two queries of its own: the
// product's audit, which asks one for each shard and day, comes at the end.
type auditor struct {
	documents *firestore.Client

	mu    sync.Mutex
	looks int
	last  sample
}

// run takes samples until ctx ends, which is no error, or a drift is seen.
func (a *auditor) run(ctx context.Context) error {
	tick := time.NewTimer(0)
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
		start := time.Now()
		if _, err := a.look(ctx); err != nil && ctx.Err() == nil {
			return err
		}
		tick.Reset(max(sampleEvery, time.Since(start)))
	}
}

// look takes one sample.
func (a *auditor) look(ctx context.Context) (sample, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	s, err := a.sample(ctx)
	if err != nil {
		return s, fmt.Errorf("comparing the shards with the markers: %w", err)
	}
	if s.count != s.markers {
		return s, driftError(s)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.looks++
	a.last = s
	return s, nil
}

// sample reads all at the read time of the counter's document, whether or not that is there.
func (a *auditor) sample(ctx context.Context) (s sample, err error) {
	doc := a.documents.Collection("counters").Doc(counterName)
	snap, err := doc.Get(ctx)
	if err != nil && status.Code(err) != codes.NotFound {
		return s, err
	}
	s.at = snap.ReadTime
	err = a.documents.RunTransaction(ctx, func(_ context.Context, tx *firestore.Transaction) error {
		shards, err := tx.Documents(doc.Collection("shards")).GetAll()
		if err != nil {
			return err
		}
		for _, d := range shards {
			n, _ := d.Data()["count"].(int64)
			s.count += n
		}
		s.markers, err = a.markers(ctx, tx)
		return err
	}, firestore.TransactionReadTime(s.at), firestore.ReadOnly)
	return s, err
}

func (a *auditor) markers(ctx context.Context, tx *firestore.Transaction) (int64, error) {
	q := a.documents.Collection("counterEvents").Where("counter", "==", counterName)
	res, err := q.NewAggregationQuery().WithCount("n").Transaction(tx).Get(ctx)
	if err != nil {
		return 0, err
	}
	return res["n"].(*firestorepb.Value).GetIntegerValue(), nil
}

// seen returns how many samples agreed, and how many orders the last one saw counted.
func (a *auditor) seen() (looks int, counted int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.looks, a.last.count
}

// exact returns an error unless exactly n orders are counted, with a marker each, and the
// product's audit agrees.
func (a *auditor) exact(ctx context.Context, n int) error {
	s, err := a.look(ctx)
	if err != nil {
		return err
	}
	if s.count != int64(n) {
		return fmt.Errorf("%d orders, but a total and as many markers of %d", n, s.count)
	}
	report, err := counter.Audit(ctx, a.documents, counterName)
	if err != nil {
		return err
	}
	if !report.OK || report.Count != int64(n) || report.Markers != int64(n) {
		return fmt.Errorf("%d orders, but the audit says %+v", n, report)
	}
	return nil
}
