package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
)

// The demo's topics and subscriptions.
const (
	ordersTopic   = "orders"
	ordersSub     = "orders-worker"
	deadTopic     = "orders-dead"
	deadSub       = "orders-dead-sub" // Keeps what the worker publishes there.
	createTimeout = 30 * time.Second
)

// createTopics creates the topics and subscriptions. Those that an earlier demo left
// in the project are used.
func createTopics(ctx context.Context, addr, project string) (err error) {
	ctx, cancel := context.WithTimeout(ctx, createTimeout)
	defer cancel()
	conn, err := grpc.NewClient("passthrough:///"+addr,
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithNoProxy())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	topics, subs := pubsubpb.NewPublisherClient(conn), pubsubpb.NewSubscriberClient(conn)
	for _, id := range []string{ordersTopic, deadTopic} {
		_, err := topics.CreateTopic(ctx, &pubsubpb.Topic{Name: topicName(project, id)})
		if err != nil && status.Code(err) != codes.AlreadyExists {
			return fmt.Errorf("creating topic %s: %w", id, err)
		}
	}
	for _, s := range subscriptions(project) {
		_, err := subs.CreateSubscription(ctx, s)
		if err != nil && status.Code(err) != codes.AlreadyExists {
			return fmt.Errorf("creating %s: %w", s.Name, err)
		}
	}
	return nil
}

// subscriptions have no dead-letter policy: the worker itself publishes what it can
// never count to the dead-letter topic.
func subscriptions(project string) []*pubsubpb.Subscription {
	return []*pubsubpb.Subscription{{
		Name:               subscriptionName(project, ordersSub),
		Topic:              topicName(project, ordersTopic),
		AckDeadlineSeconds: 60,
		RetryPolicy: &pubsubpb.RetryPolicy{
			MinimumBackoff: durationpb.New(time.Second),
			MaximumBackoff: durationpb.New(10 * time.Second),
		},
	}, {
		Name:  subscriptionName(project, deadSub),
		Topic: topicName(project, deadTopic),
	}}
}

func topicName(project, id string) string {
	return fmt.Sprintf("projects/%s/topics/%s", project, id)
}

func subscriptionName(project, id string) string {
	return fmt.Sprintf("projects/%s/subscriptions/%s", project, id)
}
