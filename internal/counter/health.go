package counter

import (
	"fmt"
	"sync"
	"time"
)

// stuckAfter is how long a group may be in work without an attempt that ends. An attempt ends
// within commitTimeout, and the pause between two is at most backoffMax, whatever Firestore does:
// beyond four times that the process itself is stuck, and only a restart helps.
const stuckAfter = 4 * (commitTimeout + backoffMax)

// health holds what keeps the counter from committing that waiting may not cure: a permission,
// a missing database.
type health struct {
	mu  sync.Mutex
	err error
}

func (h *health) troubled(err error) { h.set(err) }
func (h *health) recovered()         { h.set(nil) }

func (h *health) set(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.err = err
}

func (h *health) trouble() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.err
}

// Ready returns what is wrong with the world, or nil: for /readyz.
func (c *Counter) Ready() error { return c.health.trouble() }

// Live returns an error when a lane works on a group and no attempt has ended for a minute: for
// /livez. Firestore being down is no such error.
func (c *Counter) Live(now time.Time) error {
	for i, l := range c.lanes.every() {
		beat := l.committer.beat.Load()
		if idle := now.Sub(time.Unix(0, beat)); beat != 0 && idle > stuckAfter {
			return fmt.Errorf("shard %d: no commit attempt has ended for %v", i,
				idle.Round(time.Second))
		}
	}
	return nil
}
