package main

import (
	"context"
	"fmt"
	"time"

	"cloud.google.com/go/firestore"

	"github.com/atlasmart/ordertally/internal/counter"
)

// pollEvery is between two looks at the counter.
const pollEvery = 500 * time.Millisecond

// A verifier knows what the counter held before the first message, and so what it must hold in
// the end.
type verifier struct {
	tally
	orders          contents
	ids             []counter.EventID
	settle, timeout time.Duration

	began  time.Time
	before int64                              // the total before the first message
	known  map[counter.EventID]counter.Marker // orders of the file that were counted before
}

// newVerifier looks at the counter before anything is published. Orders of the file that are
// counted already do not count again.
func newVerifier(
	ctx context.Context, client *firestore.Client, c *config, orders contents, now time.Time,
) (*verifier, error) {
	v := &verifier{tally: tally{client: client, name: c.counter}, orders: orders,
		ids: orders.ids(), settle: c.settle, timeout: c.timeout, began: now}
	return v, v.start(ctx)
}

// start takes the total and the markers at a moment when nothing moves. They are two reads: an
// order that an earlier replay published, counted between the two, would be expected twice.
func (v *verifier) start(ctx context.Context) error {
	last := int64(-1)
	for deadline := time.Now().Add(v.timeout); ; {
		r, err := v.read(ctx)
		if err != nil {
			return err
		}
		if v.before = r.Total(); v.before == last {
			return nil
		}
		if last >= 0 && time.Now().After(deadline) {
			return fmt.Errorf("counter %q has been moving for %v: does somebody else publish?",
				v.name, v.timeout)
		}
		last = v.before
		if v.known, err = v.markers(ctx, v.ids); err != nil {
			return err
		}
	}
}

// fresh is the number of orders that are to be counted.
func (v *verifier) fresh() int64 { return int64(len(v.ids) - len(v.known)) }

func (v *verifier) expected() int64 { return v.before + v.fresh() }

// wait returns when every order has its marker and the exact total has stood still for a while,
// so that copies on their way have had their chance to be counted twice; or when the total has
// not moved for the timeout. shown is called with the number of orders that were counted since.
//
// It reads the markers only when the total stands still where it had not been looked at: an order
// is counted together with its marker, and to read all of them at every poll would be dear.
func (v *verifier) wait(ctx context.Context, shown func(n int64)) error {
	last, looked, moved := int64(-1), int64(-1), time.Now()
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for {
		r, err := v.read(ctx)
		if err != nil {
			return err
		}
		if total := r.Total(); total != last {
			last, moved = total, time.Now()
		}
		shown(last - v.before)
		still := time.Since(moved)
		if still >= v.settle && looked != last {
			known, err := v.markers(ctx, v.ids)
			if err != nil || len(known) == len(v.ids) {
				return err
			}
			looked = last
		}
		if still >= v.timeout {
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// verdict compares everything with what it must be.
func (v *verifier) verdict(ctx context.Context, r *report) error {
	audit, err := v.audit(ctx)
	if err != nil {
		return err
	}
	reading, err := v.read(ctx) // the counter exists: the audit has seen it
	if err != nil {
		return err
	}
	marked, err := v.markers(ctx, v.ids)
	if err != nil {
		return err
	}
	r.fill(v.expected(), audit)
	r.Missing = len(v.ids) - len(marked)
	r.wrongDays = v.wrongDays(marked, reading.Definition.Location, time.Now())
	r.judge(audit)
	return nil
}
