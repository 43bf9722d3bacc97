package emulatortest

import (
	"fmt"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
)

// Topic creates a topic and returns its full name. The emulator wants three
// characters in an id.
func (e *Env) Topic(id string) string {
	e.tb.Helper()
	ctx, cancel := e.context()
	defer cancel()
	name := fmt.Sprintf("projects/%s/topics/%s", e.Project, id)
	if _, err := e.admin().TopicAdminClient.CreateTopic(ctx, &pubsubpb.Topic{Name: name}); err != nil {
		e.tb.Fatalf("creating topic %s: %v", name, err)
	}
	return name
}

// Subscription creates a subscription of the topic of that full name, and returns
// its own full name. With edit, which may be nil, the test sets more of it.
func (e *Env) Subscription(id, topic string, edit func(*pubsubpb.Subscription)) string {
	e.tb.Helper()
	ctx, cancel := e.context()
	defer cancel()
	s := &pubsubpb.Subscription{
		Name:  fmt.Sprintf("projects/%s/subscriptions/%s", e.Project, id),
		Topic: topic,
	}
	if edit != nil {
		edit(s)
	}
	if _, err := e.admin().SubscriptionAdminClient.CreateSubscription(ctx, s); err != nil {
		e.tb.Fatalf("creating subscription %s: %v", s.Name, err)
	}
	return s.Name
}

// Publish publishes one message for each body, in their order, and returns the
// message ids.
func (e *Env) Publish(topic string, bodies ...[]byte) []string {
	e.tb.Helper()
	messages := make([]*pubsubpb.PubsubMessage, len(bodies))
	for i, body := range bodies {
		messages[i] = &pubsubpb.PubsubMessage{Data: body}
	}
	return e.PublishMessages(topic, messages...)
}

// PublishMessages is Publish for messages with attributes.
func (e *Env) PublishMessages(topic string, messages ...*pubsubpb.PubsubMessage) []string {
	e.tb.Helper()
	ctx, cancel := e.context()
	defer cancel()
	res, err := e.admin().TopicAdminClient.Publish(ctx,
		&pubsubpb.PublishRequest{Topic: topic, Messages: messages})
	if err != nil {
		e.tb.Fatalf("publishing to %s: %v", topic, err)
	}
	return res.MessageIds
}
