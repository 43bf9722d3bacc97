package consume

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// errAbandoned means that the grace ended before every message was settled.
var errAbandoned = errors.New("the shutdown grace ended")

// Run receives until ctx ends, and then drains: it takes no new messages, lets those in hand be
// committed and acknowledged, and nacks what is left shortly before the grace ends. It returns
// nil when every message was settled by its own outcome, and an error when messages had to be
// nacked for want of time, or when the subscription cannot be received from.
func (c *Consumer) Run(ctx context.Context) error {
	defer c.abandon()
	done := make(chan error, 1)
	go func() {
		defer close(c.ended)
		err := c.receive(ctx)
		c.died.Store(err != nil)
		c.dead.stop() // a publish may hang like any call: the grace bounds this too
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	return c.drain(done)
}

// drain waits for the receive loop within the grace. The nacks need a moment to be sent (the
// client batches them for 100 ms), so the work is abandoned a little before the end.
func (c *Consumer) drain(done <-chan error) error {
	margin := min(time.Second, c.cfg.Grace/4)
	nack := time.NewTimer(c.cfg.Grace - margin)
	end := time.NewTimer(c.cfg.Grace)
	defer nack.Stop()
	defer end.Stop()
	for {
		select {
		case err := <-done:
			if n := c.abandoned.Load(); n > 0 {
				return fmt.Errorf("draining: %w with %d messages nacked", errAbandoned, n)
			}
			return err
		case <-nack.C:
			c.abandon()
		case <-end.C:
			// A call that hangs on a dead network; Pub/Sub delivers again what it does not hear of.
			return fmt.Errorf("draining: %w with calls to Pub/Sub unanswered", errAbandoned)
		}
	}
}
