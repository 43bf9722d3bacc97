package rollup

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"google.golang.org/grpc/codes"

	"github.com/atlasmart/ordertally/internal/counter"
	"github.com/atlasmart/ordertally/internal/evidence"
	"github.com/atlasmart/ordertally/internal/fault"
)

// TestManyAtOnce runs ten rollups over and over while orders flow, watches the document, and
// compares what it saw with the markers of that time.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	h := newHouse(t, "UTC")
	const orders = 400
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var runs sync.WaitGroup
	for range 10 {
		j := h.newJob()
		runs.Go(func() {
			for ctx.Err() == nil {
				if _, err := j.RunOnce(ctx, noon); err != nil && ctx.Err() == nil {
					t.Errorf("a run beside nine others: %v", err)
				}
			}
		})
	}
	var seen []total
	runs.Go(func() { seen = h.watch(ctx) })
	for i := 0; i < orders; i += 10 {
		h.order(i, i+10, noon)
	}
	stop()
	runs.Wait()
	if last := h.runOnce(h.job, noon); last.Total != orders {
		t.Errorf("the last total is %d, want %d", last.Total, orders)
	}
	for _, s := range seen {
		if n := markersAt(t, h.client, s.asOf); n != s.total {
			t.Errorf("the total as of %v is %d, and there were %d markers", s.asOf, s.total, n)
		}
	}
	if len(seen) < 2 {
		t.Errorf("only %d totals were seen", len(seen))
	}
	if t.Failed() {
		return
	}
	evidence.Record(evidence.Row{Fault: "ten rollups at once while orders flow",
		How: "ten jobs in a loop, a listener on the counter document", Times: len(seen),
		Checked: "no total and no as-of goes back, each total = markers at its as-of",
		Result:  fmt.Sprintf("each total seen is exact, the last is %d of %d", orders, orders)})
}

// A total is what a rollup left in the counter document.
type total struct {
	total int64
	asOf  time.Time
}

// watch checks that the total and its as-of never go back, until ctx ends, and returns them.
func (h *house) watch(ctx context.Context) (seen []total) {
	it := h.client.Doc("counters/orders").Snapshots(ctx)
	defer it.Stop()
	var last total
	for {
		snap, err := it.Next()
		if err != nil {
			return seen // the end of the test
		}
		n, _ := snap.Data()["rollupTotal"].(int64)
		at, rolledUp := snap.Data()["rollupAsOf"].(time.Time)
		if n < last.total || at.Before(last.asOf) {
			h.t.Errorf("went back from %+v to %d at %v", last, n, at)
		}
		if rolledUp {
			last = total{n, at}
			seen = append(seen, last)
		}
	}
}

// markersAt counts the counter's markers as they were at a read time.
func markersAt(t *testing.T, client *firestore.Client, at time.Time) int64 {
	t.Helper()
	q := client.Collection("counterEvents").Where("counter", "==", "orders")
	var n int64
	err := client.RunTransaction(t.Context(),
		func(ctx context.Context, tx *firestore.Transaction) error {
			res, err := q.NewAggregationQuery().WithCount("n").Transaction(tx).Get(ctx)
			if err == nil {
				n = res["n"].(*firestorepb.Value).GetIntegerValue()
			}
			return err
		}, firestore.TransactionReadTime(at), firestore.ReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestNoWriterWaits holds a rollup between its read and its write, and counts orders meanwhile.
// A lock would make their commits wait, and fail with Aborted after two seconds.
func TestNoWriterWaits(t *testing.T) {
	t.Parallel()
	h := newHouse(t, "UTC")
	h.order(0, 20, noon)
	wire := fault.New(1)
	client := h.env.Firestore(wire.Options()...)
	held := h.jobOn(client)
	reading, err := counter.Read(t.Context(), client, "orders")
	if err != nil {
		t.Fatal(err)
	}
	// Here, since the transaction of a read ends with a commit too.
	wire.Add(fault.Rule{Kind: fault.Slow, Methods: []string{"Commit"}})
	core, logs := observer.New(zap.WarnLevel)
	writer := h.newCounter(zap.New(core))
	ended := make(chan error, 1)
	go func() {
		_, err := held.save(t.Context(), reading, noon)
		ended <- err
	}()
	holds(t, wire, fault.Slow)
	h.counter = writer
	start := time.Now()
	for i := 20; i < 120; i += 10 {
		h.order(i, i+10, noon)
	}
	took := time.Since(start)
	select {
	case err := <-ended:
		t.Errorf("the rollup ended while it was held: %v", err)
	default:
	}
	if n := logs.Len(); n > 0 {
		t.Errorf("%d commits went wrong beside a rollup that is held: %v", n, logs.All()[0])
	}
	fresh := h.runOnce(h.job, noon) // nor does another rollup wait
	wire.Heal()
	if err := <-ended; err != nil {
		t.Errorf("the rollup that was held: %v", err)
	}
	if got := h.doc("counters/orders"); got["rollupTotal"] != int64(120) ||
		!got["rollupAsOf"].(time.Time).Equal(fresh.AsOf) {
		t.Errorf("the late rollup left %v, want the fresher total of 120", got)
	}
	if t.Failed() {
		return
	}
	t.Logf("100 orders in ten rounds beside a rollup that is held: %v", took)
	evidence.Record(evidence.Row{Fault: "a rollup is held between its read and its write",
		How: "interceptor, its Commit waits", Times: wire.Total(),
		Checked: "orders are counted and another rollup ends meanwhile; no commit is aborted; " +
			"the late rollup does not replace the fresher total",
		Result: "100 of 100 orders counted while it was held, 0 commits repeated"})
}

// holds waits until the wire has a call.
func holds(t *testing.T, wire *fault.Wire, kind fault.Kind) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); wire.Counts()[kind] == 0; {
		if time.Now().After(deadline) {
			t.Fatalf("no call was %s", kind)
		}
		time.Sleep(time.Millisecond)
	}
}

// TestKilledBetweenReadAndWrite wants the old total whole, whatever becomes of the commit of a
// rollup that dies, or the new one whole.
func TestKilledBetweenReadAndWrite(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		rule  fault.Rule
		wrote bool
	}{
		{fault.Rule{Kind: fault.Hang}, false},
		{fault.Rule{Kind: fault.Refuse, Code: codes.Internal}, false},
		{fault.Rule{Kind: fault.Mute}, true},
		{fault.Rule{Kind: fault.Lose, Code: codes.Internal}, true},
	} {
		h := newHouse(t, "UTC")
		h.order(0, 5, noon)
		h.runOnce(h.job, noon)
		h.order(5, 12, noon.AddDate(0, 0, -1))
		before, daysBefore := h.doc("counters/orders"), h.days()
		tt.rule.Methods = []string{"Commit"}
		wire := fault.New(1)
		client := h.env.Firestore(wire.Options()...)
		reading, err := counter.Read(t.Context(), client, "orders")
		if err != nil {
			t.Fatal(err)
		}
		wire.Add(tt.rule) // here, since the transaction of a read ends with a commit too
		h.kill(wire, client, reading, tt.rule.Kind)
		got, days := h.doc("counters/orders"), h.days()
		if !tt.wrote && (!cmp.Equal(before, got) || !cmp.Equal(daysBefore, days)) {
			t.Errorf("%s: (-before +after)\n%s%s", tt.rule.Kind, cmp.Diff(before, got),
				cmp.Diff(daysBefore, days))
		}
		if tt.wrote && (got["rollupTotal"] != int64(12) || len(days) != 2) {
			t.Errorf("%s: %v and %v, want the new total whole", tt.rule.Kind, got, days)
		}
		if next := h.runOnce(h.newJob(), noon); next.Total != 12 {
			t.Errorf("%s: the next rollup says %+v", tt.rule.Kind, next)
		}
	}
	if !t.Failed() {
		evidence.Record(evidence.Row{Fault: "a rollup dies between its read and its write",
			How: "interceptor, its Commit hangs or fails, before and after it applies", Times: 4,
			Checked: "total, as-of and days are all old or all new; the next rollup is exact",
			Result:  "4 of 4 whole"})
	}
}

// kill runs the second half of a rollup, and ends it at its commit.
func (h *house) kill(
	wire *fault.Wire, client *firestore.Client, reading *counter.Reading, kind fault.Kind,
) {
	h.t.Helper()
	ctx, die := context.WithCancel(h.t.Context())
	defer die()
	job, ended := h.jobOn(client), make(chan error, 1)
	go func() {
		_, err := job.save(ctx, reading, noon)
		ended <- err
	}()
	holds(h.t, wire, kind)
	if kind == fault.Mute {
		h.applied(reading.ReadTime)
	}
	if kind == fault.Hang || kind == fault.Mute {
		die()
	}
	if err := <-ended; err == nil {
		h.t.Errorf("%s: the rollup did not notice", kind)
	}
}

// applied waits until the commit of the rollup of that time is seen.
func (h *house) applied(asOf time.Time) {
	h.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		at, _ := h.doc("counters/orders")["rollupAsOf"].(time.Time)
		if at.Equal(asOf) {
			return
		}
		if time.Now().After(deadline) {
			h.t.Fatal("the commit is not applied")
		}
	}
}

// newCounter is another worker's counter.
func (h *house) newCounter(log *zap.Logger) *counter.Counter {
	h.t.Helper()
	c, err := counter.New(h.client, "orders", counter.Definition{Shards: 4, Location: time.UTC},
		counter.Options{GroupMax: 50, MarkerTTL: time.Hour, Log: log})
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(c.Close)
	return c
}
