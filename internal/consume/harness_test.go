package consume

import (
	"context"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"cloud.google.com/go/pubsub/v2/pstest"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/atlasmart/ordertally/internal/counter"
)

const (
	project      = "projects/p"
	topic        = project + "/topics/orders"
	subscription = project + "/subscriptions/orders"
	deadTopic    = project + "/topics/dead-orders"

	// patience is how long a test waits for what must happen.
	patience = 20 * time.Second
)

// A ledger is an adder that behaves: it counts by identity, and blocks, fails, panics and refuses
// when it is told to.
type ledger struct {
	// before, if set, is asked at each Add, the n-th for this id from 1, and may fail it.
	before func(ctx context.Context, id string, n int) error

	mu      sync.Mutex
	asked   map[string]int
	waiting int // Adds inside before
	counted map[counter.EventID]bool
}

func newLedger() *ledger {
	return &ledger{asked: map[string]int{}, counted: map[counter.EventID]bool{}}
}

func (l *ledger) Add(ctx context.Context, o counter.Order) (counter.Outcome, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked[o.ID]++
	if l.before != nil {
		if err := l.ask(ctx, o.ID, l.asked[o.ID]); err != nil {
			return 0, err
		}
	}
	id := o.Event("c")
	if l.counted[id] {
		return counter.Duplicate, nil
	}
	l.counted[id] = true
	return counter.Counted, nil
}

// ask asks before without the lock.
func (l *ledger) ask(ctx context.Context, id string, n int) error {
	l.waiting++
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		l.waiting--
	}()
	return l.before(ctx, id, n)
}

func (l *ledger) total() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.counted)
}

func (l *ledger) times(id string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.asked[id]
}

func (l *ledger) blocked() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.waiting
}

// until returns a before that blocks until open is closed, or the work is abandoned.
func until(open <-chan struct{}) func(context.Context, string, int) error {
	return func(ctx context.Context, _ string, _ int) error {
		select {
		case <-open:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// An edge is a consumer at a fake Pub/Sub, with what a test wants to see of it.
type edge struct {
	t        *testing.T
	server   *pstest.Server
	client   *pubsub.Client
	wire     *wire
	orders   adder
	cfg      Config
	logs     *observer.ObservedLogs
	reader   *sdkmetric.ManualReader
	consumer *Consumer
	stop     context.CancelFunc
	ended    chan struct{} // closed when Run has returned
	err      error         // what it returned
}

// newEdge makes a topic, its subscription and a topic for dead letters. Messages are handed to
// orders when run is called.
func newEdge(t *testing.T, orders adder, refusals ...pstest.ServerReactorOption) *edge {
	t.Helper()
	e := &edge{t: t, server: pstest.NewServer(refusals...), wire: &wire{}, orders: orders}
	t.Cleanup(func() { closing(t, e.server) })
	conn, err := grpc.NewClient("passthrough:///"+e.server.Addr, grpc.WithNoProxy(),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithUnaryInterceptor(e.wire.unary), grpc.WithStreamInterceptor(e.wire.stream))
	if err != nil {
		t.Fatal(err)
	}
	e.client, err = pubsub.NewClient(context.Background(), "p", option.WithGRPCConn(conn))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closing(t, e.client) })
	core, logs := observer.New(zapcore.DebugLevel)
	e.logs, e.reader = logs, sdkmetric.NewManualReader()
	e.cfg = Config{Subscription: subscription, Kinds: DefaultKinds, MaxOutstanding: 100, Streams: 1,
		Grace: patience, Log: zap.New(core),
		Meter: sdkmetric.NewMeterProvider(sdkmetric.WithReader(e.reader)).Meter("test")}
	for _, name := range []string{topic, deadTopic} {
		e.must(e.client.TopicAdminClient.CreateTopic(t.Context(), &pubsubpb.Topic{Name: name}))
	}
	e.must(e.client.SubscriptionAdminClient.CreateSubscription(t.Context(),
		&pubsubpb.Subscription{Name: subscription, Topic: topic}))
	return e
}

func (e *edge) must(_ any, err error) {
	e.t.Helper()
	if err != nil {
		e.t.Fatal(err)
	}
}

func closing(t *testing.T, c io.Closer) {
	if err := c.Close(); err != nil {
		t.Errorf("closing: %v", err)
	}
}

// run starts the consumer, which ends with the test at the latest.
func (e *edge) run() *edge {
	e.t.Helper()
	var err error
	if e.consumer, err = New(e.client, e.orders, e.cfg); err != nil {
		e.t.Fatal(err)
	}
	var ctx context.Context
	ctx, e.stop = context.WithCancel(context.Background())
	e.ended = make(chan struct{})
	go func() {
		defer close(e.ended)
		e.err = e.consumer.Run(ctx)
	}()
	e.t.Cleanup(func() {
		e.stop()
		e.wait()
		<-e.consumer.ended
	})
	return e
}

// wait waits for Run to return, and returns what it returned.
func (e *edge) wait() error {
	e.t.Helper()
	select {
	case <-e.ended:
		return e.err
	case <-time.After(patience + 5*time.Second):
		e.t.Fatal("Run does not return")
		return nil
	}
}

// drained stops the consumer and wants it to return without an error.
func (e *edge) drained() {
	e.t.Helper()
	e.stop()
	if err := e.wait(); err != nil {
		e.t.Errorf("Run: %v, want a clean drain", err)
	}
}

func (e *edge) publish(body string) (id string) {
	return e.server.Publish(topic, []byte(body), nil)
}

func (e *edge) publishOrder(id string) (messageID string) {
	return e.publish(`{"orderId":"` + id + `"}`)
}

// eventually waits until cond holds.
func (e *edge) eventually(what string, cond func() bool) {
	e.t.Helper()
	for deadline := time.Now().Add(patience); !cond(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			e.t.Fatalf("%s: not within %v; results %v, logs %v",
				what, patience, e.results(), e.logs.All())
		}
	}
}

func (e *edge) eventuallyAcked(ids ...string) {
	e.t.Helper()
	e.eventually("every message acknowledged", func() bool {
		return !slices.ContainsFunc(ids, func(id string) bool { return e.acks(id) == 0 })
	})
}

func (e *edge) acks(id string) int { return e.server.Message(id).Acks }

// nacks is how often a message was given back.
func (e *edge) nacks(id string) (n int) {
	for _, m := range e.server.Message(id).Modacks {
		if m.AckDeadline == 0 {
			n++
		}
	}
	return n
}

// deadLetters returns what was published to the dead-letter topic.
func (e *edge) deadLetters() (dead []*pstest.Message) {
	for _, m := range e.server.Messages() {
		if m.Topic == deadTopic {
			dead = append(dead, m)
		}
	}
	return dead
}

// results returns ordertally_messages by result.
func (e *edge) results() map[string]int64 { return e.counts("ordertally_messages", "result") }

// counts returns the values of a counter other than 0 by the values of a label.
func (e *edge) counts(name string, label attribute.Key) map[string]int64 {
	counts := map[string]int64{}
	if sum, ok := e.metric(name).(metricdata.Sum[int64]); ok {
		for _, p := range sum.DataPoints {
			if v, _ := p.Attributes.Value(label); p.Value != 0 {
				counts[v.AsString()] = p.Value
			}
		}
	}
	return counts
}

func (e *edge) metric(name string) metricdata.Aggregation {
	e.t.Helper()
	var all metricdata.ResourceMetrics
	if err := e.reader.Collect(context.Background(), &all); err != nil {
		e.t.Fatal(err)
	}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if m.Name == name {
				return m.Data
			}
		}
	}
	return nil
}

// A refusal is a reactor that fails calls of the fake while it is set.
type refusal struct {
	match func(request any) bool // nil: every one
	err   atomic.Pointer[error]
	hits  atomic.Int64
}

func (f *refusal) set(err error) { f.err.Store(&err) }
func (f *refusal) clear()        { f.err.Store(nil) }

func (f *refusal) of(method string) pstest.ServerReactorOption {
	return pstest.ServerReactorOption{FuncName: method, Reactor: f}
}

// React implements pstest.Reactor.
func (f *refusal) React(request any) (handled bool, ret any, err error) {
	p := f.err.Load()
	if p == nil || f.match != nil && !f.match(request) {
		return false, nil, nil
	}
	f.hits.Add(1)
	return true, nil, *p
}

// A wire is the way between the client and the fake, where calls hang and streams break.
type wire struct {
	mu      sync.Mutex
	hang    map[string]chan struct{} // by full method: no answer until it is closed
	refuse  error                    // new streams fail with it
	broken  chan struct{}            // closed: the streams that are open fail with why
	why     error
	streams int // ever opened
}

// hold makes calls of a method hang until the returned function is called.
func (w *wire) hold(method string) (release func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.hang == nil {
		w.hang = map[string]chan struct{}{}
	}
	c := make(chan struct{})
	w.hang[method] = c
	return sync.OnceFunc(func() { close(c) })
}

func (w *wire) unary(
	ctx context.Context, method string, req, reply any, cc *grpc.ClientConn,
	invoke grpc.UnaryInvoker, opts ...grpc.CallOption,
) error {
	w.mu.Lock()
	c := w.hang[method]
	w.mu.Unlock()
	if c != nil {
		select {
		case <-c:
		case <-ctx.Done():
			return status.FromContextError(ctx.Err()).Err()
		}
	}
	return invoke(ctx, method, req, reply, cc, opts...)
}

// refuseStreams makes new streams fail, or, with nil, open again.
func (w *wire) refuseStreams(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refuse = err
}

// breakStreams makes the streams that are open fail.
func (w *wire) breakStreams(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.why = err
	close(w.broken)
	w.broken = nil
}

func (w *wire) stream(
	ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string,
	open grpc.Streamer, opts ...grpc.CallOption,
) (grpc.ClientStream, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.refuse != nil {
		return refused{err: w.refuse}, nil
	}
	if w.broken == nil {
		w.broken = make(chan struct{})
	}
	w.streams++
	ctx, cancel := context.WithCancel(ctx)
	s, err := open(ctx, desc, cc, method, opts...)
	if err != nil {
		cancel()
		return nil, err
	}
	broken := w.broken
	go func() {
		defer cancel()
		select {
		case <-broken:
		case <-ctx.Done():
		}
	}()
	return &breakable{ClientStream: s, wire: w, broken: broken}, nil
}

// A refused stream fails as the service's do: at the first answer, not at the call.
type refused struct {
	grpc.ClientStream
	err error
}

func (refused) SendMsg(any) error   { return nil }
func (r refused) RecvMsg(any) error { return r.err }
func (refused) CloseSend() error    { return nil }

type breakable struct {
	grpc.ClientStream
	wire   *wire
	broken <-chan struct{}
}

// RecvMsg implements grpc.ClientStream.
func (b *breakable) RecvMsg(m any) error {
	err := b.ClientStream.RecvMsg(m)
	select {
	case <-b.broken:
		b.wire.mu.Lock()
		defer b.wire.mu.Unlock()
		return b.wire.why
	default:
		return err
	}
}
