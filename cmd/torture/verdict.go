package main

import (
	"fmt"
	"time"

	"github.com/atlasmart/ordertally/internal/evidence"
)

// grace is the worker's WORKER_SHUTDOWN_GRACE, and what a process needs beside it.
const grace = 7*time.Second + time.Second

// finish drains the workers that are left, and tells what the series showed. flowed is what had
// passed when every message was acknowledged.
func (s *series) finish(flowed tally) error {
	if err := s.retire(); err != nil {
		return err
	}
	end := s.ledger.counts()
	if end.strangers > 0 {
		return fmt.Errorf("%d acknowledgements of what was not delivered", end.strangers)
	}
	looks, _ := s.audits.seen()
	redelivered := flowed.redelivered()
	s.say("result", "%d workers stopped by %s with %d messages in hand, %d of %d messages "+
		"delivered again, %d samples without drift, %d acknowledgements and none without a marker",
		s.made, s.way, s.inHand, redelivered, flowed.published, looks, end.acks+end.late)
	if n, first, middle, last := s.ledger.comeback(); n > 0 {
		s.say("result", "%d messages of dead workers came back after %v, %v, %v (first, middle, last)",
			n, first.Round(time.Millisecond), middle.Round(time.Millisecond), last.Round(time.Millisecond))
	}
	if s.way == term {
		if err := s.gentle(redelivered); err != nil {
			return err
		}
	}
	if !s.direct {
		s.record(flowed, end, looks)
	}
	return nil
}

// comeAgain is how many messages a stop by SIGTERM may have delivered again. The client leaves its
// streams open while it drains, and what reaches them then is let go; 131 were measured, most of
// them in the first seconds, when the workers had a backlog.
const comeAgain = 250

// gentle wants a stop by SIGTERM to be one: in time, and with few messages that come again.
func (s *series) gentle(redelivered int) error {
	s.say("result", "the longest drain took %v; %d messages for each stop came again",
		s.longest.Round(time.Millisecond), redelivered/s.made)
	if s.longest > grace {
		return fmt.Errorf("a worker took %v to drain, want at most %v", s.longest, grace)
	}
	if redelivered > comeAgain*s.made {
		return fmt.Errorf("%d messages were delivered again for %d workers, want at most %d for each",
			redelivered, s.made, comeAgain)
	}
	return nil
}

func (s *series) record(flowed, end tally, looks int) {
	n := evidence.Thousands
	row := evidence.Row{
		Fault: "a worker is killed with SIGKILL under load",
		How: fmt.Sprintf("%s orders delivered twice, 1 to %d worker processes at once, killed at "+
			"random and started again", n(s.orders), most),
		Times: s.made,
		Checked: "drift of every sample; each acknowledgement, before it is passed on, for its marker; " +
			"total and markers at the end, and again after every message was delivered once more",
		Result: fmt.Sprintf("total and markers %s, drift 0 in %d samples; %s acknowledgements, 0 "+
			"without a marker; %s messages were in the hand of the killed, none lost (seed %d)",
			n(s.orders), looks, n(end.acks+end.late), n(s.inHand), s.seed),
	}
	if s.way == term {
		row.Fault = "a worker is stopped with SIGTERM under load"
		row.How = fmt.Sprintf("%s orders delivered twice, 1 to %d worker processes at once, stopped "+
			"at random and started again", n(s.orders), most)
		row.Checked = "exit code and time of each drain, redeliveries; and all that is checked of SIGKILL"
		row.Result = fmt.Sprintf("total and markers %s, drift 0 in %d samples; every exit code 0, the "+
			"longest drain %v of %v; %s of %s messages delivered again (seed %d)", n(s.orders), looks,
			s.longest.Round(10*time.Millisecond), grace-time.Second,
			n(flowed.redelivered()), n(flowed.published), s.seed)
	}
	evidence.Record(row)
}
