package consume

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"go.uber.org/zap"

	"github.com/atlasmart/ordertally/internal/counter"
	"github.com/atlasmart/ordertally/internal/emulator/emulatortest"
	"github.com/atlasmart/ordertally/internal/fault"
)

const (
	// lineWorkers is how many workers a line has, and linePatience how long it may take.
	lineWorkers  = 2
	linePatience = 2 * time.Minute

	// shortLease is Pub/Sub's shortest. A message that a broken stream took with it comes back
	// only when its lease has run out: the product's lease would make each test wait for longer.
	shortLease = 10 * time.Second
)

// A line is the whole way of the orders on the emulators: from a topic through two workers to a
// counter, by wires that break between them.
type line struct {
	env             *emulatortest.Env
	topic, sub      string
	backlog, dead   *emulatortest.Backlog
	store, messages *fault.Wire
	sound           *firestore.Client // not on a wire
	workers         []*lineWorker
	rand            *rand.Rand

	orders  int          // published, each of them twice
	held    atomic.Int64 // in a worker's hands, waiting to be counted
	counted atomic.Int64 // called counted
}

type lineWorker struct {
	orders   *counter.Counter
	consumer *Consumer
	stop     context.CancelFunc
	ended    chan error
}

// newLine lays a line without a fault.
func newLine(t *testing.T, seed uint64) *line {
	t.Helper()
	l := &line{env: emulatortest.New(t), store: fault.New(seed), messages: fault.New(seed + 1),
		rand: rand.New(rand.NewPCG(seed, 2))}
	l.topic = l.env.Topic("orders")
	l.sub = l.env.Subscription("orders-worker", l.topic, nil)
	l.backlog = l.env.Backlog("orders-probe", l.sub, l.topic)
	dead := l.env.Topic("orders-dead")
	l.dead = l.env.Backlog("dead-probe", l.env.Subscription("orders-dead-sub", dead, nil), dead)
	l.sound = l.env.Firestore()
	def, _, err := counter.Define(t.Context(), l.sound, "orders",
		counter.Definition{Shards: 3, Location: time.UTC})
	if err != nil {
		t.Fatal(err)
	}
	for range lineWorkers {
		l.workers = append(l.workers, l.work(t, def, dead))
	}
	return l
}

// work starts a worker, which ends with the test at the latest.
func (l *line) work(t *testing.T, def counter.Definition, dead string) *lineWorker {
	t.Helper()
	w := &lineWorker{ended: make(chan error, 1)}
	var err error
	w.orders, err = counter.New(l.env.Firestore(l.store.Options()...), "orders", def,
		counter.Options{GroupMax: 10, MarkerTTL: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	w.consumer, err = New(l.env.PubSub(l.messages.Options()...), l.tally(w.orders), Config{
		Subscription: l.sub, DeadLetterTopic: dead, Kinds: DefaultKinds, MaxOutstanding: 100,
		Streams: 1, Grace: linePatience, Log: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	w.consumer.sub.ReceiveSettings.MinDurationPerAckExtension = shortLease
	w.consumer.sub.ReceiveSettings.MaxDurationPerAckExtension = shortLease
	ctx, stop := context.WithCancel(context.Background())
	w.stop = stop
	go func() { w.ended <- w.consumer.Run(ctx) }()
	t.Cleanup(func() {
		l.store.Heal()
		l.messages.Heal()
		stop()
		<-w.consumer.ended
		w.orders.Close()
	})
	return w
}

// tally counts what is held and what is called counted.
func (l *line) tally(a adder) adder {
	return adderFunc(func(ctx context.Context, o counter.Order) (counter.Outcome, error) {
		l.held.Add(1)
		defer l.held.Add(-1)
		outcome, err := a.Add(ctx, o)
		if err == nil && outcome == counter.Counted {
			l.counted.Add(1)
		}
		return outcome, err
	})
}

// publish publishes n new orders, each as two messages, in an order of chance.
func (l *line) publish(n int) {
	var bodies [][]byte
	for i := l.orders; i < l.orders+n; i++ {
		bodies = append(bodies, []byte(body(i)), []byte(body(i)))
	}
	l.rand.Shuffle(len(bodies), func(i, j int) { bodies[i], bodies[j] = bodies[j], bodies[i] })
	l.env.Publish(l.topic, bodies...)
	l.orders += n
}

func body(i int) string { return fmt.Sprintf(`{"orderId":"ord-%d"}`, i) }

// open waits until every worker's stream is open.
func (l *line) open() error {
	return within("every stream open", func() (bool, error) {
		for _, w := range l.workers {
			if w.consumer.Ready(time.Now()) != nil {
				return false, nil
			}
		}
		return true, nil
	})
}

// exact waits until every order that was published is called counted.
func (l *line) exact(ctx context.Context) error {
	err := within("every order counted", func() (bool, error) {
		return l.counted.Load() >= int64(l.orders), nil
	})
	if err != nil {
		return fmt.Errorf("%w: %d of %d; %w", err, l.counted.Load(), l.orders, l.account(ctx))
	}
	return nil
}

// account tells where the orders are that are not called counted. One without a marker whose
// messages are all acknowledged is lost. A message that is neither acknowledged nor held by a
// worker is with Pub/Sub, which waits for a lease to run out.
func (l *line) account(ctx context.Context) error {
	held := l.held.Load()
	messages, err := l.backlog.Look()
	if err != nil {
		return err
	}
	open := map[string]bool{}
	for _, m := range messages {
		open[string(m.Data)] = true
	}
	ids := make([]counter.EventID, l.orders)
	for i := range ids {
		ids[i] = counter.Order{ID: fmt.Sprint("ord-", i)}.Event("orders")
	}
	markers, err := counter.Markers(ctx, l.sound, ids)
	if err != nil {
		return err
	}
	var lost []string
	for i, id := range ids {
		if _, marked := markers[id]; !marked && !open[body(i)] {
			lost = append(lost, body(i))
		}
	}
	return fmt.Errorf("workers hold %d messages, then %d were not acknowledged, then %d orders "+
		"were marked and %d called counted; lost: %v", held, len(messages), len(markers),
		l.counted.Load(), lost)
}

// settled waits until no message of the subscription is unacknowledged.
func (l *line) settled() error {
	var left int
	err := within("every message settled", func() (bool, error) {
		messages, err := l.backlog.Look()
		left = len(messages)
		return left == 0, err
	})
	if err != nil {
		return fmt.Errorf("%w: %d are left", err, left)
	}
	return nil
}

// drained heals the wires, and wants every worker to end without an error.
func (l *line) drained() error {
	l.store.Heal()
	l.messages.Heal()
	var err error
	for _, w := range l.workers {
		w.stop()
		err = errors.Join(err, <-w.ended)
	}
	return err
}

// verify compares the counter with the truth.
func (l *line) verify(ctx context.Context) error {
	a, err := counter.Audit(ctx, l.sound, "orders")
	if err != nil {
		return err
	}
	want := int64(l.orders)
	if n := l.counted.Load(); !a.OK || a.Count != want || a.Markers != want || n != want {
		return fmt.Errorf("%d orders, of which %d were called counted: %+v", want, n, a)
	}
	dead, err := l.dead.Look()
	if err == nil && len(dead) > 0 {
		err = fmt.Errorf("%d good orders are among the dead letters: %v", len(dead), dead)
	}
	return err
}

// within waits until cond holds.
func within(what string, cond func() (bool, error)) error {
	for deadline := time.Now().Add(linePatience); ; time.Sleep(100 * time.Millisecond) {
		ok, err := cond()
		if ok || err != nil {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s: not within %v", what, linePatience)
		}
	}
}

// all runs f of every line at once: they wait for leases most of their time.
func all[T any](items []T, f func(T)) {
	var wg sync.WaitGroup
	for _, item := range items {
		wg.Go(func() { f(item) })
	}
	wg.Wait()
}
