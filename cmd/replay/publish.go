package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"cloud.google.com/go/pubsub/v2"
	"golang.org/x/time/rate"
)

const (
	// inFlight is how many messages may wait for their answer. It is several batches, so that one
	// is filled while others are on their way, and bounds what a large file takes of memory.
	inFlight = 8 * batchMessages

	// batchMessages and batchDelay end a batch, whichever comes first.
	batchMessages = 500
	batchDelay    = 20 * time.Millisecond

	// publishTimeout bounds the attempts to publish one batch, and so the time to stop.
	publishTimeout = 30 * time.Second
)

// sequence is which body is published when: all of them, then all of them again; or the same,
// shuffled by the seed.
func sequence(bodies, times int, shuffle bool, seed uint64) []int {
	order := make([]int, 0, bodies*times)
	for range times {
		for i := range bodies {
			order = append(order, i)
		}
	}
	if shuffle {
		r := rand.New(rand.NewPCG(seed, 0))
		r.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	}
	return order
}

// publish publishes the bodies in the given sequence, and returns when each that was handed over
// has its answer, also after an error or an interrupt: the number in the error is what Pub/Sub
// took. taken is called with that number so far.
func publish(
	ctx context.Context, client *pubsub.Client, c *config, bodies [][]byte, order []int,
	taken func(n int64),
) error {
	topic := newPublisher(client, c.topic)
	defer topic.Stop()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	answers := make(chan *pubsub.PublishResult, inFlight)
	var sender sync.WaitGroup
	sender.Go(func() {
		defer close(answers)
		pace := newLimiter(c.rate)
		for _, i := range order {
			if pace.Wait(ctx) != nil || ctx.Err() != nil {
				return
			}
			answers <- topic.Publish(ctx, &pubsub.Message{Data: bodies[i]})
		}
	})
	n := collect(ctx, answers, cancel, taken)
	sender.Wait()
	if n < int64(len(order)) {
		return fmt.Errorf("publishing to %s: %w, after %d of %d messages",
			c.topic, context.Cause(ctx), n, len(order))
	}
	return nil
}

// collect waits for every answer, and returns how many messages were taken. The first error stops
// the sender. A message on its way may still be taken after ctx has ended, so the answers are
// waited for without it; publishTimeout bounds them.
func collect(
	ctx context.Context, answers <-chan *pubsub.PublishResult, stop context.CancelCauseFunc,
	taken func(n int64),
) (n int64) {
	for answer := range answers {
		if _, err := answer.Get(context.WithoutCancel(ctx)); err != nil {
			stop(err)
			continue
		}
		n++
		taken(n)
	}
	return n
}

func newPublisher(client *pubsub.Client, topic string) *pubsub.Publisher {
	p := client.Publisher(topic)
	p.PublishSettings.CountThreshold = batchMessages
	p.PublishSettings.DelayThreshold = batchDelay
	p.PublishSettings.Timeout = publishTimeout
	return p
}

// newLimiter paces a publisher: at most an eighth of a second's messages at once.
func newLimiter(perSecond float64) *rate.Limiter {
	if perSecond == 0 {
		return rate.NewLimiter(rate.Inf, 1)
	}
	return rate.NewLimiter(rate.Limit(perSecond), max(1, int(perSecond/8)))
}
