package emulatortest_test

import (
	"context"
	"slices"
	"testing"

	"cloud.google.com/go/pubsub/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/atlasmart/ordertally/internal/emulator/emulatortest"
)

// TestBacklog looks at messages that nobody has, that a subscriber has in hand, and that are done.
func TestBacklog(t *testing.T) {
	t.Parallel()
	env := emulatortest.New(t)
	topic := env.Topic("orders")
	sub := env.Subscription("orders-worker", topic, nil)
	backlog := env.Backlog("orders-probe", sub, topic)
	ids := env.Publish(topic, []byte("one"), []byte("two"), []byte("three"))
	look := func() (got []string) {
		messages, err := backlog.Look()
		if err != nil {
			t.Error(err)
		}
		for _, m := range messages {
			got = append(got, m.MessageId)
		}
		slices.Sort(got)
		return got
	}
	slices.Sort(ids)
	if diff := cmp.Diff(ids, look()); diff != "" {
		t.Errorf("untouched (-want +got):\n%s", diff)
	}
	client := env.PubSub()
	ctx, cancel := context.WithCancel(t.Context())
	messages, release := make(chan *pubsub.Message, len(ids)), make(chan struct{})
	ended := make(chan error)
	go func() {
		ended <- client.Subscriber(sub).Receive(ctx, func(_ context.Context, m *pubsub.Message) {
			messages <- m
			<-release
			m.Nack()
		})
	}()
	var held []string
	for range ids {
		held = append(held, (<-messages).ID)
	}
	slices.Sort(held)
	if diff := cmp.Diff(held, look()); diff != "" {
		t.Errorf("in hand (-want +got):\n%s", diff)
	}
	cancel()
	close(release)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	receive(t, client, sub, len(ids))
	if got := look(); len(got) > 0 {
		t.Errorf("%q are left when all are acknowledged", got)
	}
}
