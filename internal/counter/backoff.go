package counter

import (
	"context"
	"math/rand/v2"
	"time"
)

const (
	backoffFirst = 50 * time.Millisecond
	backoffMax   = 5 * time.Second
)

// A backoff is the pause between the attempts of one group: doubling, with jitter so that lanes
// and workers that failed together do not come back together.
type backoff struct{ failures int }

// next returns the next pause, between half and the whole of backoffFirst·2ⁿ, at most backoffMax.
func (b *backoff) next() time.Duration {
	d := backoffMax
	if b.failures < 7 { // 50 ms·2⁷ is beyond backoffMax
		d = min(backoffMax, backoffFirst<<b.failures)
	}
	b.failures++
	return d/2 + rand.N(d/2)
}

func (b *backoff) wait(ctx context.Context) error { return sleep(ctx, b.next()) }
