package main

import (
	"context"
	"fmt"

	"github.com/atlasmart/ordertally/internal/evidence"
	"github.com/atlasmart/ordertally/internal/telemetry"
)

// A line is what a soak has come to.
type line struct {
	orders, counted, duplicates, redeliveries, faults, looks int
	vitals
}

func (l line) String() string {
	n := evidence.Thousands
	text := fmt.Sprintf("%s counted of %s orders, %s duplicates, %s redeliveries, %s faults, "+
		"drift 0 in %s samples", n(l.counted), n(l.orders), n(l.duplicates),
		n(l.redeliveries), n(l.faults), n(l.looks))
	if l.resident == 0 {
		return text
	}
	return fmt.Sprintf("%s, %d MiB, %d goroutines", text, l.resident>>20, l.goroutines)
}

func (s *soak) line(ctx context.Context) line {
	t := s.ledger.counts()
	looks, counted := s.audits.seen()
	orders := len(s.ledger.known())
	return line{orders: orders, counted: int(counted), duplicates: t.published - orders,
		redeliveries: t.redelivered(), faults: s.faults(), looks: looks,
		vitals: s.vitals(ctx)}
}

// faults is everything that was done.
func (s *soak) faults() int {
	return s.calls.Total() + s.streams.Total() + s.kills + s.terms + s.outages
}

// vitals are the memory and the goroutines of the worker that is never stopped; 0 where it does
// not answer.
type vitals struct {
	resident   int64
	goroutines int
}

func (s *soak) vitals(ctx context.Context) vitals {
	m, err := telemetry.Scrape(ctx, "http://"+s.steady.addr+"/metrics")
	if err != nil {
		return vitals{}
	}
	gauge := func(name string) float64 {
		if series := m[name].GetMetric(); len(series) > 0 {
			return series[0].GetGauge().GetValue()
		}
		return 0
	}
	return vitals{resident: int64(gauge("process_resident_memory_bytes")),
		goroutines: int(gauge("go_goroutines"))}
}

// summary tells what the soak has shown.
func (s *soak) summary(how string) error {
	l := s.line(context.Background())
	s.say(how, "%v", l)
	s.say("faults", "to Firestore %v, to Pub/Sub %v", s.calls.Counts(), s.streams.Counts())
	s.say("workers", "%d killed, %d stopped (%d had to nack), %d could not start, Firestore away %d times",
		s.kills, s.terms, s.unfinished, s.failed, s.outages)
	t := s.ledger.counts()
	s.say("acks", "%d looked at before they were passed on, none without a marker", t.acks+t.late)
	if how == "exact" {
		n := evidence.Thousands
		evidence.Record(evidence.Row{
			Fault: "everything at once, for a time",
			How: fmt.Sprintf("for %v: %.0f%% of all calls break in every way, workers are killed with "+
				"SIGKILL and stopped with SIGTERM at random, Firestore is away for %v now and then; "+
				"%d rollups at once, each order published twice",
				s.time, 100*brokenShare, away, rollupsAtOnce),
			Times: l.faults,
			Checked: "drift of every sample; each acknowledgement for its marker; rollups never back " +
				"and never above the truth; total and markers at the end",
			Result: fmt.Sprintf("total and markers %s, drift 0 in %s samples, %s redeliveries, "+
				"%s acknowledgements, 0 without a marker; %d SIGKILL, %d SIGTERM, Firestore away "+
				"%d times (seed %d)", n(l.counted), n(l.looks), n(l.redeliveries), n(t.acks+t.late),
				s.kills, s.terms, s.outages, s.seed),
		})
	}
	return nil
}
