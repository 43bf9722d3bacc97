package main

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"google.golang.org/grpc"

	"github.com/atlasmart/ordertally/internal/child"
	"github.com/atlasmart/ordertally/internal/emulator"
	"github.com/atlasmart/ordertally/internal/relay"
)

// A life is one worker process from its start to its end.
type life struct {
	*child.Child
	number int
	addr   string // where it serves its metrics

	witness *witness
	relay   *relay.Relay // nil with -direct
}

// A fleet is the workers that live. It belongs to one goroutine.
type fleet struct {
	*house
	dial  []grpc.DialOption // of the relays to Pub/Sub
	lives []*life
	born  int
}

// start starts a worker, and does not wait for it to be ready.
func (f *fleet) start() (err error) {
	f.born++
	l := &life{number: f.born}
	l.witness = &witness{ledger: f.ledger, store: f.documents, life: l.number}
	pubSub, store := f.pair.PubSub.Addr, f.pair.Firestore.Addr
	if !f.direct {
		l.relay, err = relay.Start(pubSub, l.witness.tap(), f.dial...)
		if err != nil {
			return err
		}
		pubSub = l.relay.Addr
	}
	if f.store != nil {
		store = f.store.Addr
	}
	if l.addr, err = emulator.FreeAddr(); err == nil {
		l.Child, err = child.Start(fmt.Sprintf("worker-%d", l.number), f.logs, []string{
			"GOOGLE_CLOUD_PROJECT=" + f.project,
			"FIRESTORE_EMULATOR_HOST=" + store, "PUBSUB_EMULATOR_HOST=" + pubSub,
			"WORKER_SUBSCRIPTION=" + ordersSub, "WORKER_COUNTER=" + counterName,
			"WORKER_LISTEN=" + l.addr,
		}, f.path("worker"))
	}
	if err != nil {
		return errors.Join(err, l.end())
	}
	f.lives = append(f.lives, l)
	return nil
}

// end closes the relay of a process that is gone, and returns what its witness saw.
func (l *life) end() error {
	err := l.witness.problem()
	if l.relay != nil {
		err = errors.Join(err, l.relay.Stop())
	}
	return err
}

// kill ends a worker with SIGKILL, and returns how many messages it had in hand.
func (f *fleet) kill(l *life) (inHand int, err error) {
	l.Kill()
	return f.bury(l)
}

// A stop is how a worker ended after SIGTERM.
type stop struct {
	inHand  int // messages that it still had
	took    time.Duration
	drained error // nil: it exited with 0
}

// term ends a worker with SIGTERM.
func (f *fleet) term(l *life) (s stop, err error) {
	start := time.Now()
	s.drained = l.Stop(child.Grace)
	s.took = time.Since(start)
	s.inHand, err = f.bury(l)
	return s, err
}

func (f *fleet) bury(l *life) (inHand int, err error) {
	err = l.end() // first: what it had sent may still pass
	f.lives = slices.DeleteFunc(f.lives, func(o *life) bool { return o == l })
	return f.ledger.bury(l.number, time.Now()), err
}

// fill starts workers until n live.
func (f *fleet) fill(n int) error {
	for len(f.lives) < n {
		if err := f.start(); err != nil {
			return err
		}
	}
	return nil
}

// fallen returns a worker that ended by itself, or nil.
func (f *fleet) fallen() *life {
	for _, l := range f.lives {
		select {
		case <-l.Done():
			return l
		default:
		}
	}
	return nil
}

// standing returns an error when a worker ended by itself.
func (f *fleet) standing() error {
	if l := f.fallen(); l != nil {
		return fmt.Errorf("%s ended by itself: %v\n%s", l.Name, l.State(), l.LogTail())
	}
	return nil
}

// problem returns what the witnesses of the living saw.
func (f *fleet) problem() error {
	for _, l := range f.lives {
		if err := l.witness.problem(); err != nil {
			return err
		}
	}
	return nil
}

// retire has those that are left drain.
func (f *fleet) retire() error {
	for len(f.lives) > 0 {
		s, err := f.term(f.lives[0])
		if err := errors.Join(s.drained, err); err != nil {
			return err
		}
	}
	return nil
}

// clear kills those that are left: nothing is to be learned from them.
func (f *fleet) clear() error {
	var errs []error
	for len(f.lives) > 0 {
		_, err := f.kill(f.lives[0])
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
