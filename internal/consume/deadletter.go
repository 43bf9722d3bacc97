package consume

import (
	"context"
	"fmt"
	"strings"
	"time"

	"cloud.google.com/go/pubsub/v2"
)

// The attributes that a dead letter carries beside the message's own.
const (
	attrReason       = "ordertally-reason"       // a short text
	attrMessageID    = "ordertally-message-id"   // the message's, when it was refused
	attrPublishTime  = "ordertally-publish-time" // RFC 3339 with nanoseconds
	attrSubscription = "ordertally-subscription" // projects/P/subscriptions/S
)

const (
	// maxReason keeps the reason well below the 1,024 bytes of an attribute's value
	// (https://cloud.google.com/pubsub/quotas#resource_limits).
	maxReason = 256

	// deadLetterTimeout is how long one publish may take before the message is nacked instead.
	deadLetterTimeout = 10 * time.Second
)

// deadLetters publishes what can never be counted to a topic where people look.
type deadLetters struct {
	topic        *pubsub.Publisher
	subscription string
}

func newDeadLetters(client *pubsub.Client, topic, subscription string) *deadLetters {
	publisher := client.Publisher(topic)
	publisher.PublishSettings.Timeout = deadLetterTimeout // else it goes on, and stop waits for it
	return &deadLetters{topic: publisher, subscription: subscription}
}

// publish publishes a copy of m, data and attributes unchanged, and waits for the answer.
func (d *deadLetters) publish(ctx context.Context, m *pubsub.Message, reason string) error {
	ctx, cancel := context.WithTimeout(ctx, deadLetterTimeout)
	defer cancel()
	attrs := make(map[string]string, len(m.Attributes)+4)
	for k, v := range m.Attributes {
		attrs[k] = v
	}
	attrs[attrReason] = shorten(reason, maxReason)
	attrs[attrMessageID] = m.ID
	attrs[attrPublishTime] = m.PublishTime.UTC().Format(time.RFC3339Nano)
	attrs[attrSubscription] = d.subscription
	result := d.topic.Publish(ctx, &pubsub.Message{Data: m.Data, Attributes: attrs})
	if _, err := result.Get(ctx); err != nil {
		return fmt.Errorf("publishing a dead letter to %s: %w", d.topic, err)
	}
	return nil
}

// stop ends the publisher's goroutines. It waits for publishes that their callers gave up.
func (d *deadLetters) stop() {
	if d != nil {
		d.topic.Stop()
	}
}

// shorten cuts s to at most n bytes of valid UTF-8.
func shorten(s string, n int) string {
	s = strings.ToValidUTF8(s, "?")
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n-3], "") + "…"
}
