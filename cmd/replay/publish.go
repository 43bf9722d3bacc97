package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"cloud.google.com/go/pubsub/v2"
	"golang.org/x/time/rate"
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

// publish publishes the bodies in the given sequence, and returns when Pub/Sub has taken each of
// them. done is called with the number that it has taken so far.
func publish(
	ctx context.Context, client *pubsub.Client, c *config, bodies [][]byte, order []int,
	done func(n int64),
) error {
	topic := client.Publisher(c.topic)
	defer topic.Stop()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	pace := newLimiter(c.rate)
	var taken atomic.Int64
	var answers sync.WaitGroup
	for _, i := range order {
		if pace.Wait(ctx) != nil {
			break
		}
		result := topic.Publish(ctx, &pubsub.Message{Data: bodies[i]})
		answers.Go(func() {
			if _, err := result.Get(ctx); err != nil {
				cancel(err)
				return
			}
			done(taken.Add(1))
		})
	}
	answers.Wait()
	if err := context.Cause(ctx); err != nil {
		return fmt.Errorf("publishing to %s: %w, after %d of %d messages",
			c.topic, err, taken.Load(), len(order))
	}
	return nil
}

// newLimiter paces a publisher: at most an eighth of a second's messages at once.
func newLimiter(perSecond float64) *rate.Limiter {
	if perSecond == 0 {
		return rate.NewLimiter(rate.Inf, 1)
	}
	return rate.NewLimiter(rate.Limit(perSecond), max(1, int(perSecond/8)))
}
