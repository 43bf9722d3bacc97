package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/atlasmart/ordertally/internal/child"
	"github.com/atlasmart/ordertally/internal/fault"
	"github.com/atlasmart/ordertally/internal/relay"
)

const (
	// brokenShare is the share of calls that break, and brokenFor how long a fault lasts at most:
	// so much that something is always broken, and so little that orders still get through.
	brokenShare = 0.02
	brokenFor   = 3 * time.Second

	// away is how long Firestore is down now and then.
	away = 20 * time.Second

	// stopFirst and stopLast bound the time between two stops of workers.
	stopFirst, stopLast = 2 * time.Second, 12 * time.Second
)

// A soak breaks everything at random for as long as it is asked to.
type soak struct {
	*fleet
	audits  *auditor
	rollups *rollups
	calls   *fault.Wire // to Firestore
	streams *fault.Wire // to Pub/Sub
	steady  *life       // is never stopped: what leaks shows in it
	incidents
}

// incidents count what was done to the workers, and what they did by themselves.
type incidents struct {
	kills, terms, outages int
	unfinished            int // drains that had to nack, as a worker must when its calls hang
	failed                int // workers that could not start on the broken wire
}

func newSoak(h *house) *soak {
	s := &soak{fleet: &fleet{house: h}, audits: &auditor{documents: h.documents},
		rollups: &rollups{house: h},
		calls:   fault.New(h.seed, fault.Store(brokenShare, brokenFor)...),
		streams: fault.New(h.seed+1, fault.Messages(brokenShare, brokenFor)...)}
	s.dial = s.streams.Options()
	return s
}

func (s *soak) run(ctx context.Context) (err error) {
	s.store, err = relay.Start(s.pair.Firestore.Addr, relay.Tap{}, s.calls.Options()...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.store.Stop()) }()
	defer s.rollups.clear()
	defer func() { err = errors.Join(err, s.clear()) }()
	if err := s.begin(ctx); err != nil {
		if ctx.Err() != nil {
			s.say("interrupted", "before anything was published")
			return nil
		}
		return err
	}
	replay, err := s.publish(int(s.rate*s.time.Seconds()) / times)
	if err != nil {
		return err
	}
	defer replay.Kill()
	if err := s.storm(ctx, replay); err != nil {
		return err
	}
	s.calls.Heal()
	s.streams.Heal()
	err = s.calm(ctx, replay)
	if ctx.Err() != nil && !wrong(err) {
		return s.breakOff(ctx, replay)
	}
	if err != nil {
		return err
	}
	return s.summary("exact")
}

// wrong tells what is looked for from what an interrupt broke.
func wrong(err error) bool {
	_, drift := errors.AsType[driftError](err)
	return drift || errors.Is(err, errLost)
}

// begin starts the first worker, and the rollups when it has created the counter.
func (s *soak) begin(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for s.steady == nil {
		if len(s.lives) == 0 {
			if err := s.fill(1); err != nil {
				return err
			}
		}
		if _, err := s.documents.Collection("counters").Doc(counterName).Get(ctx); err == nil {
			s.steady = s.lives[0]
		}
		if err := s.bringOut(); err != nil {
			return err
		}
		if err := pause(ctx, lookEvery); err != nil {
			return fmt.Errorf("waiting for a worker to create the counter: %w", err)
		}
	}
	return s.rollups.start()
}

// storm breaks everything until the time is over or ctx ends, which is no error.
func (s *soak) storm(ctx context.Context, replay *child.Child) error {
	ctx, cancel := context.WithTimeout(ctx, s.time)
	defer cancel()
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.audits.run(ctx) })
	g.Go(func() error { return s.rollups.watch(ctx) })
	g.Go(func() error { return s.harass(ctx, replay) })
	return g.Wait()
}

// harass stops workers and starts others, and reports every minute.
func (s *soak) harass(ctx context.Context, replay *child.Child) error {
	minute := time.NewTicker(time.Minute)
	defer minute.Stop()
	for next := time.NewTimer(0); ; {
		select {
		case <-ctx.Done():
			return nil
		case <-minute.C:
			s.say("minute", "%v", s.line(ctx))
		case <-next.C:
			if err := s.next(); err != nil {
				return err
			}
			next.Reset(stopFirst + time.Duration(s.rand.Int64N(int64(stopLast-stopFirst))))
		}
		select {
		case <-replay.Done():
			if err := published(replay); err != nil {
				return err
			}
		default:
		}
	}
}

// next lets the next thing happen to the workers.
func (s *soak) next() error {
	if err := errors.Join(s.problem(), s.bringOut()); err != nil {
		return err
	}
	victim := s.lives[s.rand.IntN(len(s.lives))]
	switch n := s.rand.IntN(12); {
	case n == 0:
		s.calls.Cut(away)
		s.outages++
	case victim == s.steady:
	case n <= 4:
		if err := s.stop(victim); err != nil {
			return err
		}
	default:
		if _, err := s.kill(victim); err != nil {
			return err
		}
		s.kills++
	}
	return s.fill(1 + s.rand.IntN(most))
}

// stop has a worker drain. On a broken wire it may have to give messages back, and says so by
// its exit code; it must not need to be killed.
func (s *soak) stop(victim *life) error {
	end, err := s.term(victim)
	if err != nil {
		return err
	}
	s.terms++
	switch victim.State().ExitCode() {
	case 0:
	case 1:
		s.unfinished++
	default:
		return fmt.Errorf("after SIGTERM: %w", end.drained)
	}
	return nil
}

// bringOut takes the workers out that ended by themselves: on a broken wire one may fail to start,
// which is exit code 1. Any other end is a fault of the worker.
func (s *soak) bringOut() error {
	for l := s.fallen(); l != nil; l = s.fallen() {
		if l.State().ExitCode() != 1 || l == s.steady {
			return fmt.Errorf("%s ended by itself: %v\n%s", l.Name, l.State(), l.LogTail())
		}
		l.Kill() // its guard is left
		if _, err := s.bury(l); err != nil {
			return err
		}
		s.failed++
	}
	return nil
}

// calm ends the publishing and has everything settled, on a wire that is whole.
func (s *soak) calm(ctx context.Context, replay *child.Child) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	_ = replay.Stop(child.Grace) // what it had handed over has its answer
	orders := len(s.ledger.known())
	if err := s.drained(ctx, s.audits, orders, s.refill); err != nil {
		return err
	}
	if err := s.audits.exact(ctx, orders); err != nil {
		return err
	}
	return errors.Join(s.rollups.retire(), s.retire())
}

// refill has the most workers live: one that was started on the broken wire may still end.
func (s *soak) refill() error {
	if err := s.bringOut(); err != nil {
		return err
	}
	return s.fill(most)
}

// breakOff stops everything as it is, after an interrupt. What is counted must agree even then.
func (s *soak) breakOff(ctx context.Context, replay *child.Child) error {
	_ = replay.Stop(child.Grace)
	if err := errors.Join(s.rollups.retire(), s.retire()); err != nil {
		return err
	}
	if _, err := s.audits.look(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	return s.summary("interrupted")
}
