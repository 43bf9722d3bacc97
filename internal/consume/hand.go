package consume

import (
	"sync"
	"time"

	"cloud.google.com/go/pubsub/v2"
)

// A hand holds the messages that are delivered and not settled, at most MaxOutstanding.
type hand struct {
	mu        sync.Mutex
	published map[*pubsub.Message]time.Time
}

func newHand() *hand { return &hand{published: map[*pubsub.Message]time.Time{}} }

func (h *hand) take(m *pubsub.Message) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.published[m] = m.PublishTime
}

func (h *hand) settle(m *pubsub.Message) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.published, m)
}

func (h *hand) size() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.published)
}

// oldest returns the age of the message that was published first, or 0 when there is none. When
// nothing is settled any more it grows, where an age that is measured at the end falls silent.
func (h *hand) oldest(now time.Time) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	var age time.Duration
	for _, at := range h.published {
		age = max(age, now.Sub(at))
	}
	return age
}
