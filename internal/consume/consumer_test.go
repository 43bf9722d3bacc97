package consume

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/atlasmart/ordertally/internal/counter"
)

func TestConsume_settles(t *testing.T) {
	t.Parallel()
	l := newLedger()
	e := newEdge(t, l).run()
	first := e.publishOrder("ord-1")
	e.eventuallyAcked(first)
	again := e.publishOrder("ord-1")
	other := e.publish(`{"kind":"ORDER_CANCELLED","orderId":"ord-2"}`)
	e.eventuallyAcked(again, other)
	e.drained()

	for _, id := range []string{first, again, other} {
		if m := e.server.Message(id); m.Deliveries != 1 || m.Acks != 1 || e.nacks(id) != 0 {
			t.Errorf("message %s: %d deliveries, %d acks, %d nacks, want one ack",
				m.Data, m.Deliveries, m.Acks, e.nacks(id))
		}
	}
	if l.total() != 1 || l.times("ord-2") != 0 {
		t.Errorf("%d orders counted, the ignored one asked for %d times",
			l.total(), l.times("ord-2"))
	}
	want := map[string]int64{"counted": 1, "duplicate": 1, "ignored": 1}
	if diff := cmp.Diff(want, e.results()); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	inFlight, ok := e.metric("ordertally_in_flight_messages").(metricdata.Gauge[int64])
	if !ok || inFlight.DataPoints[0].Value != 0 {
		t.Errorf("in flight after the drain: %+v", inFlight)
	}
	age, ok := e.metric("ordertally_message_age").(metricdata.Histogram[float64])
	if !ok || age.DataPoints[0].Count != 1 {
		t.Errorf("ages: %+v, want that of the counted message alone", age)
	}
}

// TestConsume_order wants the adder to get what the message says, and the message's own id and
// publish time.
func TestConsume_order(t *testing.T) {
	t.Parallel()
	got := make(chan counter.Order, 1)
	e := newEdge(t, adderFunc(func(_ context.Context, o counter.Order) (counter.Outcome, error) {
		got <- o
		return counter.Counted, nil
	})).run()
	id := e.server.Publish(topic, []byte(`{"orderId":42}`),
		map[string]string{"ce-type": "order.accepted", "ce-time": "2026-11-30T10:15:00Z"})
	e.eventuallyAcked(id)
	want := counter.Order{ID: "42", AcceptedAt: time.Date(2026, 11, 30, 10, 15, 0, 0, time.UTC),
		PublishedAt: e.server.Message(id).PublishTime, MessageID: id}
	if diff := cmp.Diff(want, <-got); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

type adderFunc func(context.Context, counter.Order) (counter.Outcome, error)

func (f adderFunc) Add(ctx context.Context, o counter.Order) (counter.Outcome, error) {
	return f(ctx, o)
}

// TestConsume_acksAfterAdd blocks one order. A later message's ack shows that acks are sent, and
// that the first one's is not among them.
func TestConsume_acksAfterAdd(t *testing.T) {
	t.Parallel()
	l, release := newLedger(), make(chan struct{})
	l.before = func(ctx context.Context, id string, n int) error {
		if id != "slow" {
			return nil
		}
		return until(release)(ctx, id, n)
	}
	e := newEdge(t, l).run()
	slow := e.publishOrder("slow")
	e.eventually("the slow order in hand", func() bool { return l.blocked() == 1 })
	quick := e.publishOrder("quick")
	e.eventuallyAcked(quick)
	if e.acks(slow) != 0 {
		t.Error("acknowledged before Add returned")
	}
	close(release)
	e.eventuallyAcked(slow)
	e.drained()
	if n := e.server.Message(slow).Deliveries; n != 1 {
		t.Errorf("delivered %d times, want 1", n)
	}
}

func TestConsume_invalidWithoutDeadLetters(t *testing.T) {
	t.Parallel()
	l := newLedger()
	e := newEdge(t, l).run()
	bad := e.publish(`{"orderId":"secret-id","acceptedAt":"never"}`)
	e.eventually("the message comes again and again", func() bool {
		return e.server.Message(bad).Deliveries >= 3
	})
	good := e.publishOrder("ord-1")
	e.eventuallyAcked(good)
	e.drained()
	if e.acks(bad) != 0 || e.nacks(bad) < 2 {
		t.Errorf("%d acks and %d nacks of an invalid message", e.acks(bad), e.nacks(bad))
	}
	got := e.results()
	if got["nacked"] < 2 || got["counted"] != 1 || len(got) != 2 {
		t.Errorf("results: %v", got)
	}
	log := e.logs.FilterMessage("invalid message nacked").All()
	if len(log) < 2 || log[0].ContextMap()["reason"] != "acceptedAt is not an RFC 3339 time" {
		t.Errorf("logs: %v", log)
	}
}

func TestConsume_deadLetter(t *testing.T) {
	t.Parallel()
	l := newLedger()
	e := newEdge(t, l)
	e.cfg.DeadLetterTopic = deadTopic
	e.run()
	body, attrs := []byte("\x00\xff{not JSON"), map[string]string{"": "", "origin": "주문",
		"ordertally-reason": "of an earlier refusal"}
	id := e.server.Publish(topic, body, attrs)
	e.eventuallyAcked(id)
	e.drained()

	dead := e.deadLetters()
	if len(dead) != 1 {
		t.Fatalf("%d dead letters, want 1", len(dead))
	}
	if diff := cmp.Diff(body, dead[0].Data); diff != "" {
		t.Errorf("data (-want +got):\n%s", diff)
	}
	m := e.server.Message(id)
	want := map[string]string{"": "", "origin": "주문",
		"ordertally-reason": "the body cannot be read: it is not JSON: invalid character '\\x00' " +
			"at start of value at byte 0",
		"ordertally-message-id":   id,
		"ordertally-publish-time": m.PublishTime.UTC().Format("2006-01-02T15:04:05.999999999Z"),
		"ordertally-subscription": subscription,
	}
	if diff := cmp.Diff(want, dead[0].Attributes); diff != "" {
		t.Errorf("attributes (-want +got):\n%s", diff)
	}
	if m.Deliveries != 1 || m.Acks != 1 || e.nacks(id) != 0 {
		t.Errorf("%d deliveries, %d acks, %d nacks, want one ack",
			m.Deliveries, m.Acks, e.nacks(id))
	}
	if diff := cmp.Diff(map[string]int64{"dead_lettered": 1}, e.results()); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	if l.total() != 0 {
		t.Error("an invalid message was counted")
	}
}

func TestConsume_deadLetterNotPublished(t *testing.T) {
	t.Parallel()
	dead := &refusal{match: func(r any) bool {
		return r.(*pubsubpb.PublishRequest).Topic == deadTopic
	}}
	dead.set(status.Error(codes.PermissionDenied, "not allowed"))
	e := newEdge(t, newLedger(), dead.of("Publish"))
	e.cfg.DeadLetterTopic = deadTopic
	e.run()
	id := e.publish(`[]`)
	e.eventually("two publishes refused", func() bool { return dead.hits.Load() >= 2 })
	if e.acks(id) != 0 || e.nacks(id) == 0 {
		t.Errorf("%d acks and %d nacks without a dead letter", e.acks(id), e.nacks(id))
	}
	dead.clear()
	e.eventuallyAcked(id)
	e.drained()
	if n := len(e.deadLetters()); n != 1 {
		t.Errorf("%d dead letters, want 1", n)
	}
	if got := e.results(); got["dead_lettered"] != 1 || got["nacked"] < 2 {
		t.Errorf("results: %v", got)
	}
	logs := e.logs.FilterMessage("dead letter not published, message nacked").All()
	if len(logs) == 0 || !strings.Contains(logs[0].ContextMap()["error"].(string), deadTopic) {
		t.Errorf("logs: %v, want the topic named", logs)
	}
}

// TestConsume_failedAdd nacks an order whose Add fails, and counts it when it comes again.
func TestConsume_failedAdd(t *testing.T) {
	t.Parallel()
	l := newLedger()
	l.before = func(_ context.Context, _ string, n int) error {
		if n == 1 {
			return errors.New("oops")
		}
		return nil
	}
	e := newEdge(t, l).run()
	id := e.publishOrder("ord-1")
	e.eventuallyAcked(id)
	e.drained()
	if l.total() != 1 || l.times("ord-1") != 2 || e.nacks(id) != 1 {
		t.Errorf("%d counted in %d calls with %d nacks, want 1 in 2 with 1",
			l.total(), l.times("ord-1"), e.nacks(id))
	}
	if n := e.logs.FilterMessage("order not counted, message nacked").Len(); n != 1 {
		t.Errorf("%d log lines about it, want 1", n)
	}
}

// TestConsume_unsettled never acknowledges an outcome that is none.
func TestConsume_unsettled(t *testing.T) {
	t.Parallel()
	e := newEdge(t, adderFunc(func(context.Context, counter.Order) (counter.Outcome, error) {
		return 0, nil
	})).run()
	id := e.publishOrder("ord-1")
	e.eventually("nacked", func() bool { return e.nacks(id) > 0 })
	e.drained()
	if e.acks(id) != 0 {
		t.Error("acknowledged without an outcome")
	}
}

func TestConsume_panic(t *testing.T) {
	t.Parallel()
	l := newLedger()
	l.before = func(_ context.Context, id string, n int) error {
		if id == "ord-3" && n == 1 {
			panic("boom")
		}
		return nil
	}
	e := newEdge(t, l).run()
	var ids []string
	for i := range 6 {
		ids = append(ids, e.publishOrder("ord-"+strconv.Itoa(i)))
	}
	e.eventuallyAcked(ids...)
	e.drained()
	if l.total() != len(ids) || l.times("ord-3") != 2 || e.nacks(ids[3]) != 1 {
		t.Errorf("%d counted, the bad one in %d calls with %d nacks, want %d, in 2 with 1",
			l.total(), l.times("ord-3"), e.nacks(ids[3]), len(ids))
	}
	want := map[string]int64{"counted": 6, "nacked": 1}
	if diff := cmp.Diff(want, e.results()); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	logs := e.logs.FilterMessage("handling a message panicked").All()
	if len(logs) != 1 || !strings.Contains(logs[0].ContextMap()["stack"].(string), "ledger") {
		t.Errorf("logs: %v, want the stack of the panic once", logs)
	}
}

// TestConsume_lostAck loses the answer to a counted order: it comes again when its lease is over,
// and is a duplicate then.
func TestConsume_lostAck(t *testing.T) {
	t.Parallel()
	lost := &refusal{}
	lost.set(status.Error(codes.Internal, "lost"))
	l := newLedger()
	e := newEdge(t, l, lost.of("Acknowledge")).run()
	id := e.publishOrder("ord-1")
	e.eventually("its lease extended and its ack lost", func() bool {
		return len(e.server.Message(id).Modacks) > 0 && lost.hits.Load() > 0
	})
	lost.clear()
	e.server.SetTimeNowFunc(func() time.Time { return time.Now().Add(3 * lease) })
	e.eventuallyAcked(id)
	e.drained()
	if n := e.server.Message(id).Deliveries; l.total() != 1 || n != 2 {
		t.Errorf("%d counted in %d deliveries, want 1 in 2", l.total(), n)
	}
	want := map[string]int64{"counted": 1, "duplicate": 1}
	if diff := cmp.Diff(want, e.results()); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
}

// TestConsume_storm lets five copies of each order come in any order, and some Adds fail or panic:
// each order is counted once, and each message acknowledged.
func TestConsume_storm(t *testing.T) {
	t.Parallel()
	l := newLedger()
	l.before = func(_ context.Context, id string, n int) error {
		switch i, _ := strconv.Atoi(id); {
		case n == 1 && i%3 == 0:
			return errors.New("oops")
		case n == 2 && i%5 == 0:
			panic("boom")
		}
		return nil
	}
	e := newEdge(t, l)
	e.cfg.Streams = 4
	e.run()
	const orders, copies = 20, 5
	var ids []string
	for range copies {
		for i := range orders {
			ids = append(ids, e.publishOrder(strconv.Itoa(i)))
		}
	}
	e.eventuallyAcked(ids...)
	e.drained()
	if l.total() != orders {
		t.Errorf("%d orders counted, want %d", l.total(), orders)
	}
	got := e.results()
	if got["counted"] != orders || got["duplicate"] != orders*(copies-1) {
		t.Errorf("results: %v, want %d counted and %d duplicates", got, orders, orders*(copies-1))
	}
}

func TestDrain(t *testing.T) {
	t.Parallel()
	t.Run("orders in hand are counted and acknowledged", func(t *testing.T) {
		t.Parallel()
		l, release := newLedger(), make(chan struct{})
		l.before = until(release)
		e := newEdge(t, l).run()
		ids := e.fill(l, 5)
		e.stop()
		// A message that still arrives is given back, which shows that the drain is under way.
		late := e.publishOrder("late")
		e.eventually("a late message given back", func() bool { return e.nacks(late) > 0 })
		select {
		case <-e.ended:
			t.Fatalf("Run returned %v with orders in hand", e.err)
		default:
		}
		close(release)
		if err := e.wait(); err != nil {
			t.Errorf("Run: %v, want nil", err)
		}
		for _, id := range ids {
			if e.acks(id) != 1 || e.nacks(id) != 0 {
				t.Errorf("message %s: %d acks, %d nacks, want one ack", id, e.acks(id), e.nacks(id))
			}
		}
		if l.total() != len(ids) || e.acks(late) != 0 {
			t.Errorf("%d counted, the late one with %d acks", l.total(), e.acks(late))
		}
	})

	t.Run("what is not counted in time is nacked", func(t *testing.T) {
		t.Parallel()
		l := newLedger()
		l.before = until(nil)
		e := newEdge(t, l)
		e.cfg.Grace = 4 * time.Second
		e.run()
		ids := e.fill(l, 3)
		err := e.stopInGrace()
		if !errors.Is(err, errAbandoned) || !strings.Contains(err.Error(), "3 messages nacked") {
			t.Errorf("Run: %v, want three messages nacked for want of time", err)
		}
		for _, id := range ids {
			if e.acks(id) != 0 || e.nacks(id) != 1 {
				t.Errorf("message %s: %d acks, %d nacks, want one nack",
					id, e.acks(id), e.nacks(id))
			}
		}
		if n := e.logs.FilterMessage("order not counted, message nacked").Len(); n != 0 {
			t.Errorf("%d log lines, want the summary alone", n)
		}
	})

	t.Run("at once when idle", func(t *testing.T) {
		t.Parallel()
		e := newEdge(t, newLedger()).run()
		e.eventuallyAcked(e.publishOrder("ord-1"))
		start := time.Now()
		e.drained()
		if took := time.Since(start); took > patience/2 {
			t.Errorf("draining nothing took %v", took)
		}
	})

	t.Run("before the first stream is open", func(t *testing.T) {
		t.Parallel()
		e := newEdge(t, newLedger()).run()
		e.drained()
	})

	t.Run("a dead letter in hand is published", func(t *testing.T) {
		t.Parallel()
		e := newEdge(t, newLedger())
		e.cfg.DeadLetterTopic = deadTopic
		release := e.wire.hold(pubsubpb.Publisher_Publish_FullMethodName)
		e.run()
		id := e.publish(`[]`)
		e.eventually("in hand", func() bool { return e.inFlight() == 1 })
		e.stop()
		release()
		if err := e.wait(); err != nil {
			t.Errorf("Run: %v, want nil", err)
		}
		if e.acks(id) != 1 || len(e.deadLetters()) != 1 {
			t.Errorf("%d acks and %d dead letters, want 1 and 1", e.acks(id), len(e.deadLetters()))
		}
	})

	t.Run("a dead letter that hangs is given up", func(t *testing.T) {
		t.Parallel()
		e := newEdge(t, newLedger())
		e.cfg.DeadLetterTopic, e.cfg.Grace = deadTopic, 3*time.Second
		release := e.wire.hold(pubsubpb.Publisher_Publish_FullMethodName)
		e.run()
		id := e.publish(`[]`)
		e.eventually("in hand", func() bool { return e.inFlight() == 1 })
		if err := e.stopInGrace(); !errors.Is(err, errAbandoned) {
			t.Errorf("Run: %v, want %v", err, errAbandoned)
		}
		if e.acks(id) != 0 || e.nacks(id) != 1 {
			t.Errorf("%d acks, %d nacks, want one nack", e.acks(id), e.nacks(id))
		}
		release()
		e.eventually("the call ends", func() bool { return len(e.deadLetters()) == 1 })
	})

	t.Run("an acknowledgement that hangs is given up", func(t *testing.T) {
		t.Parallel()
		l := newLedger()
		e := newEdge(t, l)
		e.cfg.Grace = 2 * time.Second
		release := e.wire.hold(pubsubpb.Subscriber_Acknowledge_FullMethodName)
		e.run()
		id := e.publishOrder("ord-1")
		e.eventually("counted", func() bool { return l.total() == 1 })
		if err := e.stopInGrace(); !errors.Is(err, errAbandoned) {
			t.Errorf("Run: %v, want %v", err, errAbandoned)
		}
		release()
		e.eventuallyAcked(id) // the call ends
	})
}

// fill publishes n orders and waits until the ledger has them all in hand.
func (e *edge) fill(l *ledger, n int) (ids []string) {
	e.t.Helper()
	for i := range n {
		ids = append(ids, e.publishOrder("ord-"+strconv.Itoa(i)))
	}
	e.eventually("every order in hand", func() bool { return l.blocked() == n })
	return ids
}

// stopInGrace stops the consumer, wants Run to return when its grace ends, and returns what it
// returned. A loaded machine may wake Run late, so what is told apart is its end by the grace and
// one by patience.
func (e *edge) stopInGrace() error {
	e.t.Helper()
	start := time.Now()
	e.stop()
	err := e.wait()
	if took := time.Since(start); took > e.cfg.Grace+patience/2 {
		e.t.Errorf("Run returned after %v, want at most %v and a moment", took, e.cfg.Grace)
	}
	return err
}

func (e *edge) inFlight() (n int64) {
	if gauge, ok := e.metric("ordertally_in_flight_messages").(metricdata.Gauge[int64]); ok {
		for _, p := range gauge.DataPoints {
			n += p.Value
		}
	}
	return n
}

func TestRun_missingSubscription(t *testing.T) {
	t.Parallel()
	e := newEdge(t, newLedger())
	e.cfg.Subscription = project + "/subscriptions/missing"
	e.run()
	err := e.wait()
	if status.Code(err) != codes.NotFound || !strings.Contains(err.Error(), e.cfg.Subscription) {
		t.Errorf("Run: %v, want that %s is not found", err, e.cfg.Subscription)
	}
	if err := e.consumer.Ready(time.Now()); err == nil {
		t.Error("ready without a stream")
	}
}

// TestRun_firstStreamRefused returns what people must mend, and tries what may pass again.
func TestRun_firstStreamRefused(t *testing.T) {
	t.Parallel()
	for code, wantFinal := range map[codes.Code]bool{
		codes.NotFound: true, codes.PermissionDenied: true, codes.InvalidArgument: true,
		codes.FailedPrecondition: true,
		codes.Unauthenticated:    false, codes.ResourceExhausted: false, codes.Unknown: false,
	} {
		t.Run(code.String(), func(t *testing.T) {
			t.Parallel()
			e := newEdge(t, newLedger())
			e.wire.refuseStreams(status.Error(code, "refused"))
			e.run()
			if wantFinal {
				if err := e.wait(); status.Code(err) != code {
					t.Errorf("Run: %v, want %v", err, code)
				}
				return
			}
			e.eventually("a restart", func() bool { return e.restarts()[code.String()] > 0 })
			if err := e.consumer.Ready(time.Now()); err == nil {
				t.Error("ready without a stream")
			}
			e.wire.refuseStreams(nil)
			e.eventuallyAcked(e.publishOrder("ord-1"))
			e.drained()
		})
	}
}

// restarts returns ordertally_receive_restarts by code.
func (e *edge) restarts() map[string]int64 {
	return e.counts("ordertally_receive_restarts", "code")
}

// TestRun_brokenStream breaks the stream with an order in hand. Its ack is lost with the stream,
// so it comes again as a duplicate; a refusal that would be final at the start is not any more.
func TestRun_brokenStream(t *testing.T) {
	t.Parallel()
	l, release := newLedger(), make(chan struct{})
	l.before = func(ctx context.Context, id string, n int) error {
		if id == "in-hand" {
			return until(release)(ctx, id, n)
		}
		return nil
	}
	e := newEdge(t, l).run()
	e.eventuallyAcked(e.publishOrder("before"))
	inHand := e.publishOrder("in-hand")
	e.eventually("in hand", func() bool { return l.blocked() == 1 })
	denied := status.Error(codes.PermissionDenied, "not allowed any more")
	e.wire.refuseStreams(denied)
	e.wire.breakStreams(denied)
	close(release)
	e.eventually("a restart in vain", func() bool { return e.restarts()["PermissionDenied"] == 2 })
	if err := e.consumer.Ready(time.Now()); err == nil {
		t.Error("ready without a stream")
	}
	e.wire.refuseStreams(nil)
	after := e.publishOrder("after")
	e.eventuallyAcked(after)
	e.server.SetTimeNowFunc(func() time.Time { return time.Now().Add(3 * lease) })
	e.eventuallyAcked(inHand)
	e.drained()
	if l.total() != 3 {
		t.Errorf("%d orders counted, want 3", l.total())
	}
	if got := e.results(); got["counted"] != 3 || got["nacked"] != 0 {
		t.Errorf("results: %v", got)
	}
	if n := e.logs.FilterMessage("receive loop broke and starts again").Len(); n != 2 {
		t.Errorf("%d log lines about the restarts, want 2", n)
	}
}

// TestRun_closedStream closes streams as the service does every half hour: the client opens
// another one by itself, and the loop does not notice.
func TestRun_closedStream(t *testing.T) {
	t.Parallel()
	e := newEdge(t, newLedger())
	e.server.SetStreamTimeout(50 * time.Millisecond)
	// What is sent into a stream that is just closing comes again when its lease has run out: the
	// server's clock goes four times as fast, so that this is well within patience.
	begin := time.Now()
	e.server.SetTimeNowFunc(func() time.Time { return time.Now().Add(3 * time.Since(begin)) })
	e.run()
	var ids []string
	for i := range 5 {
		id := e.publishOrder(strconv.Itoa(i))
		e.eventuallyAcked(id)
		ids = append(ids, id)
	}
	e.drained()
	if slices.ContainsFunc(ids, func(id string) bool { return e.acks(id) != 1 }) {
		t.Error("not every message was acknowledged once")
	}
	if got := e.restarts(); len(got) != 0 {
		t.Errorf("restarts: %v, want none", got)
	}
}

func TestReady(t *testing.T) {
	t.Parallel()
	t.Run("by a message", func(t *testing.T) {
		t.Parallel()
		e := newEdge(t, newLedger()).run()
		e.eventuallyAcked(e.publishOrder("ord-1"))
		if err := e.consumer.Ready(time.Time{}); err != nil {
			t.Errorf("after a message: %v", err)
		}
		e.drained()
		if err := e.consumer.Ready(time.Now().Add(time.Hour)); err == nil ||
			!strings.Contains(err.Error(), subscription) {
			t.Errorf("after the drain: %v, want an error with the subscription's name", err)
		}
	})

	t.Run("by time", func(t *testing.T) {
		t.Parallel()
		e := newEdge(t, newLedger())
		c, err := New(e.client, e.orders, e.cfg)
		if err != nil {
			t.Fatal(err)
		}
		if c.Ready(time.Now().Add(time.Hour)) == nil {
			t.Error("ready before Run")
		}
		e.run()
		e.eventually("the stream open", func() bool {
			return e.consumer.Ready(time.Now().Add(openAfter)) == nil
		})
		if e.consumer.Ready(time.Time{}) == nil {
			t.Error("ready before the stream has held")
		}
	})
}

func TestLive(t *testing.T) {
	t.Parallel()
	soon, late := restartMax, time.Hour
	t.Run("while it receives, and after the drain", func(t *testing.T) {
		t.Parallel()
		e := newEdge(t, newLedger()).run()
		e.eventuallyAcked(e.publishOrder("ord-1"))
		if err := e.consumer.Live(time.Now().Add(late)); err != nil {
			t.Errorf("while it receives: %v", err)
		}
		e.drained()
		if err := e.consumer.Live(time.Now().Add(soon)); err != nil {
			t.Errorf("after the drain: %v", err)
		}
	})

	t.Run("between two receives", func(t *testing.T) {
		t.Parallel()
		e := newEdge(t, newLedger())
		e.wire.refuseStreams(status.Error(codes.Unauthenticated, "no token"))
		e.run()
		e.eventually("a restart", func() bool { return len(e.restarts()) > 0 })
		now := time.Now()
		if err := e.consumer.Live(now.Add(soon)); err != nil {
			t.Errorf("while it goes round: %v", err)
		}
		c := &Consumer{}
		c.resting.Store(now.UnixNano())
		const want = "the receive loop has not received for 1h0m0s"
		if err := c.Live(now.Add(late)); err == nil || err.Error() != want {
			t.Errorf("after a pause without end: %v, want %s", err, want)
		}
	})

	t.Run("when it ended by itself", func(t *testing.T) {
		t.Parallel()
		e := newEdge(t, newLedger())
		e.wire.refuseStreams(status.Error(codes.NotFound, "no subscription"))
		e.run()
		if e.wait() == nil || e.consumer.Live(time.Now()) == nil {
			t.Errorf("Live is %v, want an error", e.consumer.Live(time.Now()))
		}
	})
}

// TestRun_concurrent wants as many messages in hand as MaxOutstanding, from all streams together.
func TestRun_concurrent(t *testing.T) {
	t.Parallel()
	var once sync.Once
	l, release := newLedger(), make(chan struct{})
	l.before = until(release)
	e := newEdge(t, l)
	e.cfg.MaxOutstanding, e.cfg.Streams = 8, 4
	e.run()
	t.Cleanup(func() { once.Do(func() { close(release) }) })
	var ids []string
	for i := range 40 {
		ids = append(ids, e.publishOrder(strconv.Itoa(i)))
	}
	e.eventually("eight in hand, and the rest on the way", func() bool {
		return l.blocked() >= 8 && !slices.ContainsFunc(ids, func(id string) bool {
			return e.server.Message(id).Deliveries == 0
		})
	})
	if n := l.blocked(); n != 8 {
		t.Errorf("%d in hand, want 8", n)
	}
	once.Do(func() { close(release) })
	e.eventuallyAcked(ids...)
	e.drained()
	if l.total() != len(ids) {
		t.Errorf("%d counted, want %d", l.total(), len(ids))
	}
}
