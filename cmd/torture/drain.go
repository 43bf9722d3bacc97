package main

import (
	"context"
	"fmt"
	"time"
)

const (
	// patience is how long nothing may happen: the emulator has taken more than a minute until it
	// gave the messages of a dead worker to another one.
	patience = 150 * time.Second
	// doubt is how long nothing may happen until what is in doubt is taken for acknowledged. What is
	// not comes again when its lease of 20 s has run out; 40 s were the most that was seen.
	doubt = time.Minute
	// lookEvery is between two looks at what is left.
	lookEvery = 200 * time.Millisecond
	// reportEvery is between two accounts of what is left.
	reportEvery = 15 * time.Second
)

// drained waits until every message is acknowledged, by what the relays saw: an empty pull would
// not tell, since what a dead worker held is not pulled either. An acknowledgement whose answer was
// lost is waited for until its message would have come again. Without relays it waits for a
// marker for each of the n orders. tend is called all the time: nothing drains without a worker.
func (f *fleet) drained(ctx context.Context, audits *auditor, n int, tend func() error) error {
	said := time.Now()
	for last, since := -1, time.Now(); ; {
		if err := tend(); err != nil {
			return err
		}
		left, err := f.left(ctx, audits, n)
		if err != nil || left == 0 {
			return err
		}
		if left != last {
			last, since = left, time.Now()
		}
		if time.Since(said) > reportEvery {
			said = time.Now()
			if err := f.report(ctx, left, n); err != nil {
				return err
			}
		}
		if time.Since(since) > doubt && left == f.ledger.inDoubt() {
			f.say("doubt", "%d acknowledgements had no answer, and no message comes again", left)
			return nil
		}
		if time.Since(since) > patience {
			return f.stuck(ctx, n)
		}
		if err := pause(ctx, lookEvery); err != nil {
			return err
		}
	}
}

// report accounts for every order while some are awaited.
func (f *fleet) report(ctx context.Context, left, n int) error {
	a, err := f.account(ctx, n)
	if err != nil {
		return err
	}
	f.say("waiting", "for %d: %v", left, a)
	return nil
}

// left is how many messages, or without relays orders, are missing.
func (f *fleet) left(ctx context.Context, audits *auditor, n int) (int, error) {
	if err := f.problem(); err != nil {
		return 0, err
	}
	if !f.direct {
		return f.ledger.open(), nil
	}
	s, err := audits.look(ctx)
	if err != nil {
		return 0, err
	}
	return n - int(s.markers), nil
}

// stuck accounts for every order, whether it is lost or only late.
func (f *fleet) stuck(ctx context.Context, n int) error {
	a, err := f.account(ctx, n)
	if err != nil {
		return err
	}
	if a.lost > 0 {
		return fmt.Errorf("%w: %v", errLost, a)
	}
	return fmt.Errorf("nothing moves for %v: %v", patience, a)
}

// pause waits for d, or returns early with ctx's error.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
