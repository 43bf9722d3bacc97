package main

import (
	"context"
	"fmt"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// callTimeout bounds the calls to an emulator: the clients retry one that is gone for as long as
// they may.
const callTimeout = 30 * time.Second

func (h *house) subscription() string {
	return fmt.Sprintf("projects/%s/subscriptions/%s", h.project, ordersSub)
}

// createTopics creates the topic, and a subscription that keeps what is acknowledged, so that
// everything can be delivered once more.
func (h *house) createTopics(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	topic := fmt.Sprintf("projects/%s/topics/%s", h.project, ordersTopic)
	_, err := h.messages.TopicAdminClient.CreateTopic(ctx, &pubsubpb.Topic{Name: topic})
	if err != nil {
		return fmt.Errorf("creating the topic: %w", err)
	}
	_, err = h.messages.SubscriptionAdminClient.CreateSubscription(ctx, &pubsubpb.Subscription{
		Name: h.subscription(), Topic: topic, AckDeadlineSeconds: 10, RetainAckedMessages: true,
		MessageRetentionDuration: durationpb.New(24 * time.Hour),
	})
	if err != nil {
		return fmt.Errorf("creating the subscription: %w", err)
	}
	return nil
}

// rewind makes Pub/Sub deliver every message again.
func (h *house) rewind(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	h.ledger.rewind() // first: what is acknowledged after the seek counts
	start := timestamppb.New(time.Now().Add(-12 * time.Hour))
	_, err := h.messages.SubscriptionAdminClient.Seek(ctx, &pubsubpb.SeekRequest{
		Subscription: h.subscription(), Target: &pubsubpb.SeekRequest_Time{Time: start}})
	if err != nil {
		return fmt.Errorf("seeking to the first message: %w", err)
	}
	return nil
}
