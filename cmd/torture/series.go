package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/atlasmart/ordertally/internal/child"
)

// A way is how workers are stopped.
type way string

const (
	kill way = "SIGKILL"
	term way = "SIGTERM"
)

// warm is how many messages are acknowledged before the first worker is to drain.
const warm = 2000

// most is how many workers live at once at most.
const most = 3

// A series stops workers all the time while orders flow.
type series struct {
	*fleet
	audits  *auditor
	way     way
	made    int           // stops
	inHand  int           // messages of the stopped
	longest time.Duration // that a worker took to drain
}

func newSeries(h *house, w way) *series {
	return &series{fleet: &fleet{house: h}, audits: &auditor{documents: h.documents}, way: w}
}

func (s *series) run(ctx context.Context) (err error) {
	defer func() { err = errors.Join(err, s.clear()) }()
	replay, err := s.publish(s.orders)
	if err != nil {
		return err
	}
	defer replay.Kill()
	ctx, cancel := context.WithCancel(ctx)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.audits.run(ctx) })
	g.Go(func() error {
		defer cancel() // ends the audits
		return s.stages(ctx, replay)
	})
	return g.Wait()
}

func (s *series) stages(ctx context.Context, replay *child.Child) error {
	if err := s.warmUp(ctx); err != nil {
		return err
	}
	if err := s.harass(ctx, replay); err != nil {
		return err
	}
	if err := s.fill(1 + s.rand.IntN(most)); err != nil { // the last one may have been killed
		return err
	}
	if err := s.settle(ctx); err != nil {
		return err
	}
	flowed := s.ledger.counts()
	s.say("exact", "%d orders in %d messages: total and markers agree", s.orders, flowed.published)
	if err := s.again(ctx); err != nil {
		return err
	}
	return s.finish(flowed)
}

// warmUp lets workers that are to drain in time count for a while first: the first commits of an
// emulator that has just started take seconds. To be killed, no time is too early.
func (s *series) warmUp(ctx context.Context) error {
	if s.way == kill {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errors.New("nothing is counted"))
	defer cancel()
	if err := s.fill(most); err != nil {
		return err
	}
	for s.ledger.counts().acks < min(warm, s.orders) {
		if err := errors.Join(s.standing(), s.problem()); err != nil {
			return err
		}
		if err := pause(ctx, lookEvery); err != nil {
			return err
		}
	}
	return nil
}

// harass stops workers and starts others until all is published and enough were stopped. Where
// the orders come to an end before, everything comes again.
func (s *series) harass(ctx context.Context, replay *child.Child) error {
	for {
		if err := s.fill(1 + s.rand.IntN(most)); err != nil {
			return err
		}
		if err := pause(ctx, s.gap()); err != nil {
			return err
		}
		victim, err := s.victim(ctx)
		if err != nil {
			return err
		}
		if err := s.stop(victim); err != nil {
			return err
		}
		select {
		case <-replay.Done():
			if s.made >= s.stops {
				return published(replay)
			}
			if s.ledger.open() == 0 {
				err = s.rewind(ctx)
			}
		default:
		}
		if err != nil {
			return err
		}
	}
}

// gap is the time between two stops: so many that all are made while it is published.
func (s *series) gap() time.Duration {
	mean := float64(s.orders*times) / s.rate / float64(s.stops)
	return time.Duration((0.3 + s.rand.Float64()) * mean * float64(time.Second))
}

// victim waits for a worker that works: to stop one that has only started breaks nothing.
func (s *series) victim(ctx context.Context) (*life, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errors.New("no worker gets a message"))
	defer cancel()
	for {
		if err := errors.Join(s.standing(), s.problem()); err != nil {
			return nil, err
		}
		for _, i := range s.rand.Perm(len(s.lives)) {
			if s.direct || s.ledger.works(s.lives[i].number) {
				return s.lives[i], nil
			}
		}
		if err := pause(ctx, lookEvery); err != nil {
			return nil, err
		}
	}
}

func (s *series) stop(l *life) error {
	var end stop
	var err error
	if s.way == kill {
		end.inHand, err = s.fleet.kill(l)
	} else {
		end, err = s.fleet.term(l)
	}
	if err := errors.Join(end.drained, err); err != nil {
		return err
	}
	s.made++
	s.inHand += end.inHand
	s.longest = max(s.longest, end.took)
	looks, counted := s.audits.seen()
	s.say(string(s.way), "%d: %s with %d messages in hand; %d orders counted at the last of %d samples",
		s.made, l.Name, end.inHand, counted, looks)
	return nil
}

// settle waits until every message is acknowledged, and wants the counts to be exact.
func (s *series) settle(ctx context.Context) error {
	if err := s.drained(ctx, s.audits, s.orders, s.standing); err != nil {
		return err
	}
	return s.audits.exact(ctx, s.orders)
}

// again has every message delivered once more, which must change nothing.
func (s *series) again(ctx context.Context) error {
	before := s.ledger.counts().deliveries
	if err := s.rewind(ctx); err != nil {
		return err
	}
	if err := s.settle(ctx); err != nil {
		return fmt.Errorf("after everything was delivered again: %w", err)
	}
	s.say("again", "%d deliveries after a seek to the first message changed nothing",
		s.ledger.counts().deliveries-before)
	return nil
}
