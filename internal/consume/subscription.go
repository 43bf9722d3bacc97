package consume

import (
	"context"
	"fmt"
	"time"

	"cloud.google.com/go/pubsub/v2"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"go.uber.org/zap"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	// checkTimeout bounds each look at the subscription and the topic at the start.
	checkTimeout = 15 * time.Second

	// defaultRetention is what a subscription keeps where it does not say
	// (https://cloud.google.com/pubsub/docs/subscription-properties#message_retention_duration).
	defaultRetention = 7 * 24 * time.Hour
)

// Check looks at the subscription and the dead-letter topic before the first message. It returns
// an error when either does not exist, or when the subscription keeps messages for longer than
// markers live: such a late copy would be counted again. It only warns where it may not look
// (the subscriber's role does not include pubsub.subscriptions.get).
func Check(ctx context.Context, client *pubsub.Client, cfg Config, markerTTL time.Duration) error {
	if err := checkDeadLetters(ctx, client, cfg); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	sub, err := client.SubscriptionAdminClient.GetSubscription(ctx,
		&pubsubpb.GetSubscriptionRequest{Subscription: cfg.Subscription})
	switch status.Code(err) {
	case codes.OK:
	case codes.NotFound:
		return fmt.Errorf("the subscription %s does not exist", cfg.Subscription)
	case codes.PermissionDenied:
		cfg.Log.Warn("may not read the subscription: its retention is not checked against the "+
			"marker TTL", zap.String("subscription", cfg.Subscription),
			zap.Duration("markerTTL", markerTTL))
		return nil
	default:
		return fmt.Errorf("reading the subscription %s: %w", cfg.Subscription, err)
	}
	if cfg.DeadLetterTopic != "" && cfg.DeadLetterTopic == sub.GetTopic() {
		return fmt.Errorf("WORKER_DEAD_LETTER_TOPIC is the topic of %s itself: each dead letter "+
			"would come back as the next invalid message", cfg.Subscription)
	}
	if cfg.DeadLetterTopic == "" && sub.GetDeadLetterPolicy() == nil {
		cfg.Log.Warn("neither WORKER_DEAD_LETTER_TOPIC nor a dead-letter policy of the "+
			"subscription: an invalid message comes back until its retention ends",
			zap.String("subscription", cfg.Subscription))
	}
	return checkRetention(sub, markerTTL)
}

// checkRetention compares the longest way that a copy can take back to the subscription with the
// life of a marker.
func checkRetention(sub *pubsubpb.Subscription, markerTTL time.Duration) error {
	retention := defaultRetention
	if d := sub.GetMessageRetentionDuration(); d != nil {
		retention = d.AsDuration()
	}
	retention = max(retention, sub.GetTopicMessageRetentionDuration().AsDuration())
	if markerTTL < retention {
		return fmt.Errorf("WORKER_MARKER_TTL is %v, and %s keeps messages for %v: a copy that "+
			"comes after its marker expired would be counted again", markerTTL, sub.GetName(),
			retention)
	}
	return nil
}

func checkDeadLetters(ctx context.Context, client *pubsub.Client, cfg Config) error {
	if cfg.DeadLetterTopic == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	_, err := client.TopicAdminClient.GetTopic(ctx,
		&pubsubpb.GetTopicRequest{Topic: cfg.DeadLetterTopic})
	switch status.Code(err) {
	case codes.OK, codes.PermissionDenied: // a publisher's role does not include topics.get
		return nil
	case codes.NotFound:
		return fmt.Errorf("the dead-letter topic %s does not exist", cfg.DeadLetterTopic)
	}
	return fmt.Errorf("reading the dead-letter topic %s: %w", cfg.DeadLetterTopic, err)
}
