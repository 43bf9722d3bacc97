package consume

import (
	"sync"
	"time"

	"cloud.google.com/go/pubsub/v2"
)

// A hand holds the messages that are delivered and not settled, at most MaxOutstanding.
type hand struct {
	mu       sync.Mutex
	messages map[*pubsub.Message]struct{}
}

func newHand() *hand { return &hand{messages: map[*pubsub.Message]struct{}{}} }

func (h *hand) take(m *pubsub.Message) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.messages[m] = struct{}{}
}

func (h *hand) settle(m *pubsub.Message) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.messages, m)
}

func (h *hand) size() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.messages)
}

// oldest returns the age of the message that was published first, or 0 when there is none. When
// nothing is settled any more it grows, where an age that is measured at the end falls silent.
func (h *hand) oldest(now time.Time) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	var age time.Duration
	for m := range h.messages {
		age = max(age, now.Sub(m.PublishTime))
	}
	return age
}
