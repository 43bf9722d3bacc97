package consume

import (
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2"
)

func TestHand(t *testing.T) {
	noon := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	h := newHand()
	want := func(size int, oldest time.Duration) {
		t.Helper()
		if h.size() != size || h.oldest(noon) != oldest {
			t.Errorf("%d in hand, the oldest %v, want %d and %v",
				h.size(), h.oldest(noon), size, oldest)
		}
	}
	want(0, 0)
	old := &pubsub.Message{ID: "1", PublishTime: noon.Add(-time.Minute)}
	young := &pubsub.Message{ID: "1", PublishTime: noon.Add(-time.Second)} // a redelivery
	ahead := &pubsub.Message{ID: "2", PublishTime: noon.Add(time.Second)}  // of this clock
	h.take(ahead)
	want(1, 0)
	h.take(young)
	h.take(old)
	want(3, time.Minute)
	h.settle(old)
	want(2, time.Second)
	h.settle(young)
	h.settle(ahead)
	want(0, 0)
}
