package counter

import (
	"context"
	"time"

	"go.uber.org/zap"
)

const (
	// FollowEvery is how often a worker looks for a new number of shards: with the time of the
	// look, and one look that fails, it follows within 30 s. A poll is a read each time, 8,640 a
	// day for each worker. A listener would cost a read for each rollup, which changes the same
	// document: ten times as many when the rollup repeats every second, and a stream to keep open.
	FollowEvery = 10 * time.Second

	// followTimeout bounds one look.
	followTimeout = 5 * time.Second
)

// follow makes the lanes follow the number of shards in the counter's document until ctx ends.
func (c *Counter) follow(ctx context.Context, s store, every time.Duration) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			c.look(ctx, s)
		case <-ctx.Done():
			return
		}
	}
}

// look takes over the number of shards that the document has now. Orders are counted all the same
// where it cannot be read, since a shard that is no longer wanted still counts.
func (c *Counter) look(ctx context.Context, s store) {
	attempt, cancel := context.WithTimeout(ctx, followTimeout)
	defer cancel()
	now, err := s.numShards(attempt)
	if err != nil {
		if ctx.Err() == nil {
			c.log.Warn("looking for the number of shards went wrong, and is repeated",
				zap.String("counter", c.name), zap.Error(err))
		}
		return
	}
	if was := c.lanes.shards(); was != now {
		c.lanes.reshape(now)
		c.log.Info("following the counter to a new number of shards",
			zap.String("counter", c.name), zap.Int("from", was), zap.Int("to", now))
	}
}
