package main

import (
	"errors"
	"slices"
	"time"

	"github.com/atlasmart/ordertally/internal/consume"
	"github.com/atlasmart/ordertally/internal/counter"
)

// contents is what the bodies of a file amount to, by the worker's own decoder.
type contents struct {
	orders  map[counter.EventID]dates // each distinct order
	copies  int                       // bodies that tell of an order that another one told of
	ignored int                       // bodies of another kind
	invalid int                       // bodies that can never be counted
}

// dates are the times at which the bodies say that an order was accepted; zero: when published.
// They may differ, and which body is counted is not ours to know.
type dates []time.Time

func (d dates) add(at time.Time) dates {
	if slices.ContainsFunc(d, at.Equal) {
		return d
	}
	return append(d, at)
}

func look(bodies [][]byte, counterName string, now time.Time) contents {
	decoder := consume.NewDecoder(consume.DefaultKinds)
	c := contents{orders: map[counter.EventID]dates{}}
	for _, body := range bodies {
		o, err := decoder.Decode(consume.Message{Data: body}, now)
		if errors.Is(err, consume.ErrIgnored) {
			c.ignored++
			continue
		}
		if err != nil {
			c.invalid++
			continue
		}
		id := o.Event(counterName)
		if _, twice := c.orders[id]; twice {
			c.copies++
		}
		c.orders[id] = c.orders[id].add(o.AcceptedAt)
	}
	return c
}

// ids lists the orders in a stable order.
func (c contents) ids() []counter.EventID {
	ids := make([]counter.EventID, 0, len(c.orders))
	for id := range c.orders {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b counter.EventID) int { return slices.Compare(a[:], b[:]) })
	return ids
}
