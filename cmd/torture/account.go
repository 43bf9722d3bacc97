package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
)

// An account tells where the orders are that have no marker.
type account struct {
	orders, marked int
	unpublished    int // no publish was answered
	undelivered    int // Pub/Sub has it
	held           int // a living worker has it in hand
	dead           int // only a dead worker had it, and Pub/Sub has not noticed
	returned       int // was given back
	lost           int // was acknowledged: nobody has it any more
}

func (a account) String() string {
	return fmt.Sprintf("%d of %d orders have a marker; of the others %d were not published, "+
		"%d not delivered, %d are in the hand of a worker, %d of a dead one, %d were given back, "+
		"%d are lost", a.marked, a.orders, a.unpublished, a.undelivered, a.held, a.dead, a.returned,
		a.lost)
}

// account looks for the marker of each of the n orders.
func (h *house) account(ctx context.Context, n int) (account, error) {
	// The fates come first: what was acknowledged before the markers are read must have one.
	fates := h.ledger.fates()
	ids := slices.Collect(maps.Keys(fates))
	known, err := marked(ctx, h.documents, ids)
	if err != nil {
		return account{}, err
	}
	a := account{orders: n, unpublished: n - len(ids)}
	for id, o := range fates {
		if known[id] {
			a.marked++
		} else {
			*a.place(o)++
		}
	}
	return a, nil
}

// A fate is what became of an order's messages.
type fate struct{ acked, held, dead, delivered bool }

// fates returns those of all known orders at this moment.
func (l *ledger) fates() map[string]fate {
	l.mu.Lock()
	defer l.mu.Unlock()
	fates := make(map[string]fate, len(l.orders))
	for id, o := range l.orders {
		var f fate
		for _, m := range o.messages {
			_, buried := l.dead[m.holder]
			f.acked = f.acked || m.acked
			f.held = f.held || m.holder != 0 && !buried
			f.dead = f.dead || buried
			f.delivered = f.delivered || m.deliveries > 0
		}
		fates[id] = f
	}
	return fates
}

// place returns where an order without a marker is: by what is worst for it, and then by what is
// nearest to its count.
func (a *account) place(f fate) *int {
	switch {
	case f.acked:
		return &a.lost
	case f.held:
		return &a.held
	case f.dead:
		return &a.dead
	case f.delivered:
		return &a.returned
	}
	return &a.undelivered
}
