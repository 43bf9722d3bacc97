package counter

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/atlasmart/ordertally/internal/telemetry"
)

// A Status is what a counter does at one moment, for people.
type Status struct {
	Counter    string
	Definition Definition
	Groups     int64   // that were taken through, ever
	Orders     int64   // in them
	Orders10s  float64 // orders in a group, over the last seconds
	Orders1m   float64
	Groups10s  float64 // groups a second, over the last seconds
	Groups1m   float64
	Lanes      []LaneStatus
}

// A LaneStatus is what one shard's lane does.
type LaneStatus struct {
	Shard      int
	Pending    int       // orders that wait for the next group
	InWork     int       // orders of the group in work
	Groups     int64     // that were taken through, ever
	Orders     int64     // in them
	LastCommit time.Time // zero: none yet
	Pace       float64   // commits a second at most; 0: no limit
}

// groupRates is how groups come along in all lanes.
type groupRates struct{ groups, orders telemetry.Window }

// average returns the orders in a group over the last seconds.
func (r *groupRates) average(now time.Time, seconds int) float64 {
	groups := r.groups.Rate(now, seconds)
	if groups == 0 {
		return 0
	}
	return r.orders.Rate(now, seconds) / groups
}

// progress is what a lane shows of itself while it works.
type progress struct {
	rates *groupRates // shared by all lanes; nil: nobody asks

	inWork, groups, orders atomic.Int64
	committed              atomic.Int64  // UnixNano of the last commit that succeeded
	pace                   atomic.Uint64 // the bits of a float64
}

// begin notes that a group is in work.
func (p *progress) begin(orders int) { p.inWork.Store(int64(orders)) }

// end notes that every order of the group is settled.
func (p *progress) end(now time.Time, orders int) {
	p.inWork.Store(0)
	p.groups.Add(1)
	p.orders.Add(int64(orders))
	if p.rates != nil {
		p.rates.groups.Add(now, 1)
		p.rates.orders.Add(now, int64(orders))
	}
}

func (p *progress) paced(rate float64) { p.pace.Store(math.Float64bits(rate)) }

// Status returns what the counter does now.
func (c *Counter) Status(now time.Time) Status {
	s := Status{
		Counter: c.name, Definition: c.Definition(),
		Groups: c.rates.groups.Total(), Orders: c.rates.orders.Total(),
		Orders10s: c.rates.average(now, 10), Orders1m: c.rates.average(now, 60),
		Groups10s: c.rates.groups.Rate(now, 10), Groups1m: c.rates.groups.Rate(now, 60),
	}
	for _, l := range c.lanes.every() {
		s.Lanes = append(s.Lanes, l.committer.progress.status(l.shard, l.waiting()))
	}
	return s
}

func (p *progress) status(shard, pending int) LaneStatus {
	s := LaneStatus{Shard: shard, Pending: pending, InWork: int(p.inWork.Load()),
		Groups: p.groups.Load(), Orders: p.orders.Load(),
		Pace: math.Float64frombits(p.pace.Load())}
	if at := p.committed.Load(); at != 0 {
		s.LastCommit = time.Unix(0, at)
	}
	return s
}
