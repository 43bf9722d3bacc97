package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cloud.google.com/go/firestore"

	"github.com/atlasmart/ordertally/internal/counter"
)

const (
	// pollEvery is between two looks at the counter.
	pollEvery = 500 * time.Millisecond

	// readTimeout bounds one look: Firestore's client retries one that is away for long.
	readTimeout = 30 * time.Second
)

// A verifier knows what the counter held before the first message, and so what it must hold in
// the end.
type verifier struct {
	client   *firestore.Client
	c        *config
	orders   contents
	expected int64            // the total in the end
	reading  *counter.Reading // the last look at the counter
}

// newVerifier looks at the counter before anything is published. Orders of the file that are
// counted already do not count again.
func newVerifier(
	ctx context.Context, client *firestore.Client, c *config, orders contents,
) (*verifier, error) {
	v := &verifier{client: client, c: c, orders: orders}
	total, err := v.total(ctx)
	if errors.Is(err, counter.ErrNotFound) {
		total, err = 0, nil // the worker creates it
	}
	if err != nil {
		return nil, err
	}
	missing, err := v.missing(ctx, orders.ids())
	if err != nil {
		return nil, err
	}
	v.expected = total + int64(len(missing))
	return v, nil
}

func (v *verifier) total(ctx context.Context) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	r, err := counter.Read(ctx, v.client, v.c.counter)
	if err != nil {
		return 0, err
	}
	v.reading = r
	return r.Total(), nil
}

// missing is the part of the orders that has no marker.
func (v *verifier) missing(
	ctx context.Context, ids []counter.EventID,
) (missing []counter.EventID, err error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	known, err := counter.Markers(ctx, v.client, ids)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if _, ok := known[id]; !ok {
			missing = append(missing, id)
		}
	}
	return missing, nil
}

// wait returns when every order has its marker and the exact total has stood still for a while,
// so that copies on their way have had their chance to be counted twice; or when nothing has
// progressed for the timeout. shown is called with the number of orders that have a marker.
func (v *verifier) wait(ctx context.Context, shown func(n int64)) error {
	left, last := v.orders.ids(), int64(-1)
	moved := time.Now()
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for {
		before := len(left)
		var err error
		if left, err = v.missing(ctx, left); err != nil {
			return err
		}
		total, err := v.total(ctx)
		if err != nil && !errors.Is(err, counter.ErrNotFound) {
			return err
		}
		if len(left) != before || total != last {
			moved, last = time.Now(), total
		}
		shown(int64(len(v.orders.orders) - len(left)))
		still := time.Since(moved)
		if len(left) == 0 && still >= v.c.settle || still >= v.c.timeout {
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("waiting for the counter: %w", ctx.Err())
		}
	}
}

// verdict compares everything with what it must be.
func (v *verifier) verdict(ctx context.Context, r *report) error {
	ctx, cancel := context.WithTimeout(ctx, v.c.timeout)
	defer cancel()
	audit, err := counter.Audit(ctx, v.client, v.c.counter)
	if err != nil {
		return err
	}
	known, err := counter.Markers(ctx, v.client, v.orders.ids())
	if err != nil {
		return err
	}
	r.fill(v.expected, audit)
	r.Missing = len(v.orders.orders) - len(known)
	r.problems = append(r.problems, v.wrongDays(known, v.reading.Definition.Location)...)
	r.judge(audit)
	return nil
}

// wrongDays names the orders that count for another day than their own. One without a date is of
// the day on which it was first published, which this run may not have been.
func (v *verifier) wrongDays(
	known map[counter.EventID]counter.Marker, loc *time.Location,
) (problems []string) {
	wrong := 0
	for id, m := range known {
		at := v.orders.orders[id]
		if !at.IsZero() && m.Day != counter.Day(at, loc) {
			wrong++
		}
	}
	if wrong > 0 {
		problems = append(problems, fmt.Sprintf("%d orders count for a day that is not theirs", wrong))
	}
	return problems
}
