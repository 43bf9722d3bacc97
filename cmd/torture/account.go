package main

import (
	"context"
	"fmt"
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
	orders := h.ledger.known()
	ids := make([]string, len(orders))
	for i, o := range orders {
		ids[i] = o.id
	}
	known, err := marked(ctx, h.documents, ids)
	if err != nil {
		return account{}, err
	}
	a := account{orders: n, unpublished: n - len(orders)}
	h.ledger.mu.Lock()
	defer h.ledger.mu.Unlock()
	for _, o := range orders {
		if known[o.id] {
			a.marked++
		} else {
			*a.place(h.ledger, o)++
		}
	}
	return a, nil
}

// place returns where an order without a marker is: by what is worst for it, and then by what is
// nearest to its count.
func (a *account) place(l *ledger, o *order) *int {
	var acked, held, dead, delivered bool
	for _, m := range o.messages {
		_, buried := l.dead[m.holder]
		acked = acked || m.acked
		held = held || m.holder != 0 && !buried
		dead = dead || buried
		delivered = delivered || m.deliveries > 0
	}
	switch {
	case acked:
		return &a.lost
	case held:
		return &a.held
	case dead:
		return &a.dead
	case delivered:
		return &a.returned
	}
	return &a.undelivered
}
