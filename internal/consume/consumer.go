package consume

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"cloud.google.com/go/pubsub/v2"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/zap"

	"github.com/atlasmart/ordertally/internal/counter"
	"github.com/atlasmart/ordertally/internal/telemetry"
)

// An adder counts an order once, and returns when that is sure. It may be asked for many at once.
// When ctx ends first it returns an error, and the order may be counted all the same.
type adder interface {
	Add(ctx context.Context, o counter.Order) (counter.Outcome, error)
}

// Config says what a Consumer receives, and how.
type Config struct {
	Subscription    string        // full name
	DeadLetterTopic string        // full name; "": invalid messages are nacked
	Kinds           []string      // that are counted
	MaxOutstanding  int           // messages in flight, all streams together
	Streams         int           // streaming pulls
	Grace           time.Duration // from the end of Run's context to its return, at most
	Log             *zap.Logger
	Meter           metric.Meter
}

// A Consumer receives the messages of one subscription and settles each of them.
type Consumer struct {
	cfg     Config
	orders  adder
	sub     *pubsub.Subscriber
	dead    *deadLetters // nil: none
	decoder *Decoder
	metrics *metrics
	log     *zap.Logger

	work    context.Context // what callbacks work on: outlives Run's context by the grace
	abandon context.CancelFunc
	ended   chan struct{} // closed with the last goroutine, which may outlive Run's grace

	hand      *hand
	receiving atomic.Int64 // UnixNano since when the stream is open; 0: it is not
	resting   atomic.Int64 // UnixNano since when the loop is between two receives; 0: it is not
	died      atomic.Bool  // the loop ended, and nobody had asked it to
	received  atomic.Bool  // a message came through it
	everHeld  atomic.Bool  // a stream was open once
	abandoned atomic.Int64 // messages that were nacked for want of time
}

// New returns a consumer that hands orders to a. Run starts it, once.
func New(client *pubsub.Client, a adder, cfg Config) (*Consumer, error) {
	hand := newHand()
	m, err := newMetrics(cfg.Meter, hand)
	if err != nil {
		return nil, err
	}
	c := &Consumer{
		cfg: cfg, orders: a, decoder: NewDecoder(cfg.Kinds), metrics: m, log: cfg.Log,
		sub: client.Subscriber(cfg.Subscription), ended: make(chan struct{}), hand: hand,
	}
	c.sub.ReceiveSettings = receiveSettings(cfg)
	if cfg.DeadLetterTopic != "" {
		c.dead = newDeadLetters(client, cfg.DeadLetterTopic, cfg.Subscription)
	}
	c.work, c.abandon = context.WithCancel(context.Background())
	return c, nil
}

// handle settles one message: exactly once, on every path. It works on the consumer's own
// context: the callback's is cancelled at the first sign of a shutdown, when the commit of a
// message in hand still has its time. Of the callback's only the span is used.
func (c *Consumer) handle(callback context.Context, m *pubsub.Message) {
	c.received.Store(true)
	ctx := c.work
	if span := trace.SpanContextFromContext(callback); span.IsValid() {
		ctx = trace.ContextWithSpanContext(ctx, span)
	}
	c.hand.take(m)
	r := c.process(ctx, m)
	if r == nacked {
		if c.work.Err() != nil {
			c.abandoned.Add(1)
		}
		m.Nack()
	} else {
		m.Ack()
	}
	c.hand.settle(m)
	c.metrics.settled(c.work, r, time.Since(m.PublishTime))
}

// process decides what becomes of a message. Its frame is small on purpose: beyond 4 KiB in all, the
// stack of each callback would grow once more when it comes to the hash in Add, which took 8 % of
// a worker's CPU and doubled what its blocked callbacks hold.
func (c *Consumer) process(ctx context.Context, m *pubsub.Message) (r result) {
	defer c.survive(ctx, m, &r)
	order, err := c.decoder.Decode(Message{Data: m.Data, Attributes: m.Attributes, ID: m.ID,
		PublishTime: m.PublishTime}, time.Now())
	if err != nil {
		return c.undecoded(ctx, m, err)
	}
	outcome, err := c.orders.Add(ctx, order)
	if err != nil {
		return c.uncounted(ctx, m, err)
	}
	switch outcome {
	case counter.Counted:
		return counted
	case counter.Duplicate:
		return duplicate
	}
	return nacked // unsettled: never acknowledged
}

// survive ends a panic, which is a fault of ours: the message comes again, and the others go on.
func (c *Consumer) survive(ctx context.Context, m *pubsub.Message, r *result) {
	p := recover()
	if p == nil {
		return
	}
	c.log.Error("handling a message panicked", zap.Any("panic", p), zap.String("messageId", m.ID),
		zap.ByteString("stack", debug.Stack()), telemetry.Span(ctx))
	*r = nacked
}

// undecoded settles a message that tells of no order to count.
func (c *Consumer) undecoded(ctx context.Context, m *pubsub.Message, err error) result {
	if errors.Is(err, ErrIgnored) {
		return ignored
	}
	return c.reject(ctx, m, err.(*InvalidError).Reason) // Decode has no third kind of error
}

// uncounted settles a message whose order could not be counted: now, or ever.
func (c *Consumer) uncounted(ctx context.Context, m *pubsub.Message, err error) result {
	if bad, ok := errors.AsType[*counter.RefusedError](err); ok {
		c.log.Error("Firestore refuses an order", zap.Error(err), zap.String("messageId", m.ID),
			telemetry.Span(ctx))
		return c.reject(ctx, m, fmt.Sprintf("Firestore refuses the order: %v", bad.Unwrap()))
	}
	if c.work.Err() == nil {
		c.log.Error("order not counted, message nacked", zap.Error(err),
			zap.String("messageId", m.ID), telemetry.Span(ctx))
	}
	return nacked
}

// reject sends a message to the dead letters, or gives it back to the subscription, whose own
// dead-letter policy then moves it. It is never dropped.
func (c *Consumer) reject(ctx context.Context, m *pubsub.Message, reason string) result {
	if c.dead == nil {
		c.log.Warn("invalid message nacked", zap.String("reason", reason),
			zap.String("messageId", m.ID), telemetry.Span(ctx))
		return nacked
	}
	if err := c.dead.publish(ctx, m, reason); err != nil {
		c.log.Error("dead letter not published, message nacked", zap.Error(err),
			zap.String("messageId", m.ID), telemetry.Span(ctx))
		return nacked
	}
	c.log.Warn("message dead-lettered", zap.String("reason", reason),
		zap.String("messageId", m.ID), telemetry.Span(ctx))
	return deadLettered
}
