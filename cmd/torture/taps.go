package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/protobuf/proto"

	"github.com/atlasmart/ordertally/internal/consume"
	"github.com/atlasmart/ordertally/internal/counter"
	"github.com/atlasmart/ordertally/internal/relay"
)

// errLost is what all of this looks for.
var errLost = errors.New("an order is acknowledged and has no marker")

var decoder = consume.NewDecoder(nil)

// orderOf returns the id of the order that a message is about.
func orderOf(m *pubsubpb.PubsubMessage) string {
	o, err := decoder.Decode(consume.Message{Data: m.GetData()}, time.Now())
	if err != nil {
		return fmt.Sprintf("not an order: %v", err)
	}
	return o.ID
}

// intake is the tap of what is published.
func (l *ledger) intake() relay.Tap {
	return relay.Tap{Answer: func(method string, request, answer []byte) {
		if method != pubsubpb.Publisher_Publish_FullMethodName {
			return
		}
		var req pubsubpb.PublishRequest
		var res pubsubpb.PublishResponse
		read(request, &req)
		read(answer, &res)
		for i, id := range res.MessageIds {
			l.publish(id, orderOf(req.Messages[i]))
		}
	}}
}

// A witness stands between one life and Pub/Sub.
type witness struct {
	ledger *ledger
	store  *firestore.Client
	life   int

	mu  sync.Mutex
	err error // the first that was seen to be wrong
}

func (w *witness) tap() relay.Tap {
	return relay.Tap{Request: w.request, Answer: w.answer}
}

// request looks for the markers of what is about to be acknowledged. The acknowledgement waits.
func (w *witness) request(ctx context.Context, method string, message []byte) {
	if method != pubsubpb.Subscriber_Acknowledge_FullMethodName {
		return
	}
	var req pubsubpb.AcknowledgeRequest
	read(message, &req)
	if err := w.prove(ctx, w.ledger.unproven(req.AckIds)); err != nil && ctx.Err() == nil {
		w.fail(err)
	}
	w.ledger.ask(req.AckIds)
}

// prove returns errLost unless each order has its marker.
func (w *witness) prove(ctx context.Context, orders []string) error {
	known, err := marked(ctx, w.store, orders)
	if err != nil {
		return err
	}
	for _, id := range orders {
		if !known[id] {
			return fmt.Errorf("%w: %q, by worker %d", errLost, id, w.life)
		}
		w.ledger.prove(id)
	}
	return nil
}

// marked tells which of the orders have a marker.
func marked(ctx context.Context, store *firestore.Client, orders []string) (map[string]bool, error) {
	ids := make([]counter.EventID, len(orders))
	for i, id := range orders {
		ids[i] = counter.Order{ID: id}.Event(counterName)
	}
	markers, err := counter.Markers(ctx, store, ids)
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for i, id := range orders {
		_, known[id] = markers[ids[i]]
	}
	return known, nil
}

func (w *witness) answer(method string, request, answer []byte) {
	switch method {
	case pubsubpb.Subscriber_StreamingPull_FullMethodName:
		var res pubsubpb.StreamingPullResponse
		read(answer, &res)
		for _, m := range res.ReceivedMessages {
			w.ledger.deliver(w.life, m.AckId, m.Message.MessageId, orderOf(m.Message), time.Now())
		}
	case pubsubpb.Subscriber_Acknowledge_FullMethodName:
		var req pubsubpb.AcknowledgeRequest
		read(request, &req)
		w.ledger.settle(req.AckIds, true)
	case pubsubpb.Subscriber_ModifyAckDeadline_FullMethodName:
		var req pubsubpb.ModifyAckDeadlineRequest
		read(request, &req)
		if req.AckDeadlineSeconds == 0 {
			w.ledger.settle(req.AckIds, false)
		}
	}
}

// read reads a message that the other side has read too.
func read(b []byte, into proto.Message) {
	if err := proto.Unmarshal(b, into); err != nil {
		panic(fmt.Sprintf("reading a %T: %v", into, err))
	}
}

func (w *witness) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = err
	}
}

func (w *witness) problem() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}
