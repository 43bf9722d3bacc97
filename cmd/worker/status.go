package main

import (
	"fmt"
	"strconv"
	"time"

	"github.com/atlasmart/ordertally/internal/consume"
	"github.com/atlasmart/ordertally/internal/counter"
	"github.com/atlasmart/ordertally/internal/settings"
	"github.com/atlasmart/ordertally/internal/statusz"
	"github.com/atlasmart/ordertally/internal/telemetry"
)

// status is the page of the worker at this moment.
func (w *worker) status(now time.Time) statusz.Page {
	p := statusz.Page{Program: "worker", Build: telemetry.ReadBuild(), Started: w.started, Now: now,
		Notes: w.recent.Notes(), Settings: w.cfg.values()}
	p.Live, p.Ready = w.health.Problems()
	if c := w.consumer.Load(); c != nil {
		addMessages(&p, c.Status(now))
	}
	if c := w.counter.Load(); c != nil {
		addCounter(&p, c.Status(now))
	}
	return p
}

// values are the settings as they may be shown.
func (c *config) values() []settings.Value {
	export := c.export.Redact()
	return settings.Values(settings.Spec{Into: &c.cloud}, settings.Spec{Prefix: "WORKER", Into: c},
		settings.Spec{Into: &export})
}

func addMessages(p *statusz.Page, s consume.Status) {
	hand := strconv.Itoa(s.InFlight)
	if s.InFlight > 0 {
		hand += ", the oldest published " + statusz.Duration(s.Oldest) + " ago"
	}
	p.Facts = append(p.Facts, statusz.Fact{Name: "subscription", Text: s.Subscription},
		statusz.Fact{Name: "messages in hand", Text: hand})
	t := statusz.Table{Title: "Messages", Note: "Settled, a second.",
		Columns: []string{"result", "last 10\u00a0s", "last minute", "since the start"}}
	for _, r := range s.Results {
		t.Rows = append(t.Rows, []string{r.Result, statusz.Rate(r.Per10s), statusz.Rate(r.Per1m),
			strconv.FormatInt(r.Total, 10)})
	}
	p.Tables = append(p.Tables, t)
}

func addCounter(p *statusz.Page, s counter.Status) {
	p.Facts = append(p.Facts,
		statusz.Fact{Name: "counter", Text: fmt.Sprintf("%s, %d shards, %v",
			s.Counter, s.Definition.Shards, s.Definition.Location)},
		statusz.Fact{Name: "groups, last 10\u00a0s", Text: groups(s.Groups10s, s.Orders10s)},
		statusz.Fact{Name: "groups, last minute", Text: groups(s.Groups1m, s.Orders1m)})
	t := statusz.Table{Title: "Lanes",
		Note: "One for each shard: it takes one group at a time, and the pace is its limit.",
		Columns: []string{"shard", "pending", "in work", "since the last commit", "pace",
			"orders in a group"}}
	for _, l := range s.Lanes {
		t.Rows = append(t.Rows, lane(l, p.Now))
	}
	p.Tables = append(p.Tables, t)
}

func groups(perSecond, orders float64) string {
	return fmt.Sprintf("%s a second, %s orders in each", statusz.Rate(perSecond), statusz.Rate(orders))
}

func lane(l counter.LaneStatus, now time.Time) []string {
	pace := "free"
	if l.Pace > 0 {
		pace = statusz.Rate(l.Pace) + "/s"
	}
	since := "none yet"
	if !l.LastCommit.IsZero() {
		since = statusz.Duration(now.Sub(l.LastCommit))
	}
	return []string{strconv.Itoa(l.Shard), strconv.Itoa(l.Pending), strconv.Itoa(l.InWork),
		since, pace,
		statusz.Rate(float64(l.Orders) / float64(max(1, l.Groups)))}
}
