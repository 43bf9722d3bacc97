package consume

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"cloud.google.com/go/pubsub/v2"
	"go.uber.org/zap"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	// lease is how long Pub/Sub waits for a worker that died before it delivers the message to
	// another one: long enough that a slow Acknowledge call, which holds up the renewals, does not
	// bring messages back.
	lease = 20 * time.Second

	// maxExtension is how long a message in hand is kept when Firestore is away. Afterwards it
	// may be delivered again, which costs a read.
	maxExtension = 60 * time.Minute

	// outstandingBytes bounds the memory of messages in flight, all streams together, and
	// maxMessage is the largest that Pub/Sub has
	// (https://cloud.google.com/pubsub/quotas#resource_limits).
	outstandingBytes = 64 << 20
	maxMessage       = 10 << 20

	// openAfter is how long Receive must have held to be believed: a missing subscription or
	// permission ends it within a round trip. The client gives no signal of its own.
	openAfter = time.Second

	restartFirst = time.Second
	restartMax   = time.Minute

	// deadAfter is how long the loop may be between two receives.
	deadAfter = 2 * restartMax
)

func receiveSettings(cfg Config) pubsub.ReceiveSettings {
	return pubsub.ReceiveSettings{
		MaxOutstandingMessages:     (cfg.MaxOutstanding + cfg.Streams - 1) / cfg.Streams,
		MaxOutstandingBytes:        max(outstandingBytes/cfg.Streams, maxMessage),
		EnablePerStreamFlowControl: true, // else a server may push more than the callbacks take
		NumGoroutines:              cfg.Streams,
		MaxExtension:               maxExtension,
		MinDurationPerAckExtension: lease,
		MaxDurationPerAckExtension: lease,
		// ShutdownOptions stays nil: with any timeout there the client drops the acks of the
		// drain. The grace is ours.
	}
}

// receive receives until ctx ends and the callbacks have returned. When the stream breaks it
// starts again, with a backoff, since a permission or a token may come back; before the first
// success such an error is final, since then it is most likely a setting.
func (c *Consumer) receive(ctx context.Context) error {
	pause := restartFirst
	for {
		start := time.Now()
		c.received.Store(false)
		c.receiving.Store(start.UnixNano())
		c.resting.Store(0)
		err := c.sub.Receive(ctx, c.handle)
		held := c.open(time.Now())
		c.resting.Store(time.Now().UnixNano())
		c.receiving.Store(0)
		if ctx.Err() != nil {
			return nil
		}
		if err == nil {
			err = errors.New("the stream ended without an error")
		}
		if !held && final(err) && !c.everHeld.Load() {
			return fmt.Errorf("receiving from %s: %w", c.cfg.Subscription, err)
		}
		if held {
			c.everHeld.Store(true)
			pause = restartFirst
		}
		c.metrics.restarted(ctx, status.Code(err))
		c.log.Warn("receive loop broke and starts again", zap.Error(err), zap.Duration("in", pause))
		wait(ctx, pause/2+rand.N(pause/2))
		pause = min(2*pause, restartMax)
	}
}

// final reports whether an error, met before the first success, is for people to mend.
func final(err error) bool {
	switch status.Code(err) {
	case codes.NotFound, codes.PermissionDenied, codes.InvalidArgument, codes.FailedPrecondition:
		return true
	}
	return false
}

// open reports whether the stream is open: a message came through it, or it has held for a while.
func (c *Consumer) open(now time.Time) bool {
	since := c.receiving.Load()
	return since != 0 && (c.received.Load() || now.Sub(time.Unix(0, since)) >= openAfter)
}

// Ready returns why the consumer is not receiving, or nil: for /readyz.
func (c *Consumer) Ready(now time.Time) error {
	if !c.open(now) {
		return fmt.Errorf("no stream of %s is open", c.cfg.Subscription)
	}
	return nil
}

// Live returns an error when the receive loop is dead: it ended though nobody had asked it to, or
// it does not come back from a pause, which lasts restartMax at most. It is for /livez; Pub/Sub
// being away is no such error, since the loop then goes round.
func (c *Consumer) Live(now time.Time) error {
	if c.died.Load() {
		return errors.New("the receive loop has ended")
	}
	since := c.resting.Load()
	if idle := now.Sub(time.Unix(0, since)); since != 0 && idle > deadAfter {
		return fmt.Errorf("the receive loop has not received for %v", idle.Round(time.Second))
	}
	return nil
}

func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
