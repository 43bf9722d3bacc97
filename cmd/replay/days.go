package main

import (
	"time"

	"github.com/atlasmart/ordertally/internal/counter"
)

// clockSkew is how far this machine's clock may be from the one that dates a message.
const clockSkew = time.Minute

// wrongDays is the number of orders that count for another day than one of their own.
func (v *verifier) wrongDays(
	marked map[counter.EventID]counter.Marker, loc *time.Location, now time.Time,
) (n int) {
	first, last := counter.Day(v.began.Add(-clockSkew), loc), counter.Day(now.Add(clockSkew), loc)
	for id, m := range marked {
		_, before := v.known[id]
		published := before || first <= m.Day && m.Day <= last
		if !v.orders.orders[id].allow(m.Day, loc, published) {
			n++
		}
	}
	return n
}

// allow reports whether an order may count for a day. One without a date is of the day on which it
// was first published: any day for an order that was counted before this run, and one that the
// run spans otherwise. published tells whether the day is such a one.
func (d dates) allow(day string, loc *time.Location, published bool) bool {
	for _, at := range d {
		if at.IsZero() && published || !at.IsZero() && counter.Day(at, loc) == day {
			return true
		}
	}
	return false
}
