package rollup

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"cloud.google.com/go/firestore"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest"
	"go.uber.org/zap/zaptest/observer"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/atlasmart/ordertally/internal/counter"
	"github.com/atlasmart/ordertally/internal/emulator/emulatortest"
)

func TestMain(m *testing.M) { emulatortest.Main(m) }

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// A house is one counter on the emulator, the way in and the job.
type house struct {
	t       *testing.T
	env     *emulatortest.Env
	client  *firestore.Client
	counter *counter.Counter
	job     *Job
}

func newHouse(t *testing.T, zone string) *house {
	t.Helper()
	env := emulatortest.New(t)
	client := env.Firestore()
	loc, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	def, _, err := counter.Define(t.Context(), client, "orders",
		counter.Definition{Shards: 4, Location: loc})
	if err != nil {
		t.Fatal(err)
	}
	c, err := counter.New(client, "orders", def,
		counter.Options{GroupMax: 50, MarkerTTL: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	h := &house{t: t, env: env, client: client, counter: c}
	h.job = h.newJob()
	return h
}

func (h *house) newJob() *Job { return h.jobOn(h.client) }

func (h *house) jobOn(client *firestore.Client) *Job {
	h.t.Helper()
	j, err := New(client, "orders", zaptest.NewLogger(h.t), nil)
	if err != nil {
		h.t.Fatal(err)
	}
	return j
}

// order counts orders from..to-1, accepted at the given time.
func (h *house) order(from, to int, at time.Time) {
	h.t.Helper()
	var wg sync.WaitGroup
	for i := from; i < to; i++ {
		wg.Go(func() {
			o := counter.Order{ID: fmt.Sprint("ord-", i), AcceptedAt: at, PublishedAt: at}
			if _, err := h.counter.Add(h.t.Context(), o); err != nil {
				h.t.Errorf("adding an order: %v", err)
			}
		})
	}
	wg.Wait()
}

func (h *house) runOnce(j *Job, now time.Time) Result {
	h.t.Helper()
	res, err := j.RunOnce(h.t.Context(), now)
	if err != nil {
		h.t.Fatal(err)
	}
	return res
}

func (h *house) doc(path string) map[string]any {
	h.t.Helper()
	snap, err := h.client.Doc(path).Get(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	return snap.Data()
}

func (h *house) days() map[string]any {
	h.t.Helper()
	snaps, err := h.client.Collection("counters/orders/days").Documents(h.t.Context()).GetAll()
	if err != nil {
		h.t.Fatal(err)
	}
	days := map[string]any{}
	for _, s := range snaps {
		days[s.Ref.ID] = s.Data()
	}
	return days
}

// TestRunOnce compares everything that runs leave in the documents with the design's.
func TestRunOnce(t *testing.T) {
	t.Parallel()
	h := newHouse(t, "UTC")
	first := h.runOnce(h.job, noon)
	if first.Total != 0 || first.LagMs != 0 || first.LagEvents != 0 || first.Shards != 0 {
		t.Errorf("of an empty counter: %+v", first)
	}
	h.order(0, 30, noon)
	h.order(30, 37, noon.AddDate(0, 0, -1)) // late ones
	second := h.runOnce(h.job, noon)
	got := h.doc("counters/orders")
	if at, ok := got["rollupAt"].(time.Time); !ok || at.Before(second.AsOf) {
		t.Errorf("rollupAt is %v, want a server time after %v", got["rollupAt"], second.AsOf)
	}
	for _, name := range []string{"rollupAt", "createdAt", "numShards", "schemaVersion", "timeZone"} {
		delete(got, name)
	}
	want := map[string]any{
		"rollupTotal":     int64(37),
		"rollupToday":     map[string]any{"day": "2026-11-30", "total": int64(30)},
		"rollupAsOf":      second.AsOf.UTC(),
		"rollupLagMs":     second.AsOf.Sub(first.AsOf).Milliseconds(),
		"rollupLagEvents": int64(37),
		"rollupShards":    int64(4),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("counter document (-want +got):\n%s", diff)
	}
	wantDays := map[string]any{
		"2026-11-29": map[string]any{"total": int64(7), "asOf": second.AsOf.UTC()},
		"2026-11-30": map[string]any{"total": int64(30), "asOf": second.AsOf.UTC()},
	}
	if diff := cmp.Diff(wantDays, h.days()); diff != "" {
		t.Errorf("days (-want +got):\n%s", diff)
	}

	h.order(37, 40, noon)
	// Another process, which does not know the days, and the next day.
	third := h.runOnce(h.newJob(), noon.Add(12*time.Hour))
	if third.Total != 40 || third.LagEvents != 3 || third.Days != 1 ||
		third.Today != (counter.DayTotal{Day: "2026-12-01"}) {
		t.Errorf("after midnight: %+v", third)
	}
	wantDays["2026-11-30"] = map[string]any{"total": int64(33), "asOf": third.AsOf.UTC()}
	if diff := cmp.Diff(wantDays, h.days()); diff != "" {
		t.Errorf("days after midnight, the older one untouched (-want +got):\n%s", diff)
	}
	if again := h.runOnce(h.job, noon); again.Days != 0 || again.LagEvents != 0 || !again.Wrote {
		t.Errorf("with nothing new: %+v", again)
	}
}

func TestTodayIsOfTheCountersTimeZone(t *testing.T) {
	t.Parallel()
	h := newHouse(t, "Asia/Seoul")
	late := time.Date(2026, 11, 30, 20, 0, 0, 0, time.UTC) // 5 in the morning in Seoul
	h.order(0, 5, late)
	h.order(5, 7, noon)
	want := counter.DayTotal{Day: "2026-12-01", Total: 5}
	if got := h.runOnce(h.job, late); got.Today != want {
		t.Errorf("today is %+v, want %+v", got.Today, want)
	}
}

func TestAFresherTotalStays(t *testing.T) {
	t.Parallel()
	h := newHouse(t, "UTC")
	h.order(0, 3, noon)
	stale, err := counter.Read(t.Context(), h.client, "orders")
	if err != nil {
		t.Fatal(err)
	}
	h.order(3, 5, noon)
	fresh := h.runOnce(h.job, noon)
	before := h.doc("counters/orders")
	got, err := h.newJob().save(t.Context(), stale, noon)
	if err != nil {
		t.Fatal(err)
	}
	if got.Wrote || got.Total != 5 || !got.AsOf.Equal(fresh.AsOf) {
		t.Errorf("the late run returned %+v, want the fresher one", got)
	}
	if diff := cmp.Diff(before, h.doc("counters/orders")); diff != "" {
		t.Errorf("the late run changed the document (-before +after):\n%s", diff)
	}
}

func TestALostRaceIsRunAgain(t *testing.T) {
	t.Parallel()
	h := newHouse(t, "UTC")
	h.order(0, 3, noon)
	r, err := counter.Read(t.Context(), h.client, "orders")
	if err != nil {
		t.Fatal(err)
	}
	// Somebody changes the document, but does not bring a fresher total.
	_, err = h.client.Doc("counters/orders").Update(t.Context(),
		[]firestore.Update{{Path: "note", Value: "hello"}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := h.job.save(t.Context(), r, noon)
	if err != nil || !got.Wrote || got.Total != 3 {
		t.Errorf("%+v, %v, want it written at the second try", got, err)
	}
	if h.doc("counters/orders")["note"] != "hello" {
		t.Error("the other's field is gone")
	}
}

func TestABadShardLeavesTheOldTotal(t *testing.T) {
	t.Parallel()
	h := newHouse(t, "UTC")
	h.order(0, 3, noon)
	h.runOnce(h.job, noon)
	before := h.doc("counters/orders")
	for _, bad := range []any{nil, "5", 5.5, -1} {
		_, err := h.client.Doc("counters/orders/shards/77").Set(t.Context(),
			map[string]any{"count": bad})
		if err != nil {
			t.Fatal(err)
		}
		_, err = h.job.RunOnce(t.Context(), noon)
		if err == nil || !strings.HasPrefix(err.Error(), "counters/orders/shards/77: count is") {
			t.Errorf("with a count of %v: %v, want an error that names the shard", bad, err)
		}
	}
	if diff := cmp.Diff(before, h.doc("counters/orders")); diff != "" {
		t.Errorf("the document changed (-before +after):\n%s", diff)
	}
}

// TestATotalThatFalls deletes a shard: its orders are missing from the total, which says so.
func TestATotalThatFalls(t *testing.T) {
	t.Parallel()
	h := newHouse(t, "UTC")
	core, logs := observer.New(zap.InfoLevel)
	h.job.log = zap.New(core)
	h.order(0, 20, noon)
	h.runOnce(h.job, noon)
	h.order(20, 21, noon)
	h.runOnce(h.job, noon)
	if n := logs.Len(); n != 0 {
		t.Errorf("%d log lines while the total grows: %v", n, logs.All())
	}
	shard := h.client.Doc("counters/orders/shards/2")
	gone, _ := h.doc("counters/orders/shards/2")["count"].(int64)
	if _, err := shard.Delete(t.Context()); err != nil || gone == 0 {
		t.Fatalf("%d orders in the shard to delete, %v", gone, err)
	}
	if res := h.runOnce(h.job, noon); res.Total != 21-gone || !res.Wrote {
		t.Errorf("%+v, want a total of %d", res, 21-gone)
	}
	lines := logs.FilterMessage("the total is lower than before: see rollup audit").All()
	if len(lines) != 1 || lines[0].ContextMap()["fewer"] != gone {
		t.Errorf("log lines %v, want one that tells of %d orders", lines, gone)
	}
}

func TestUnknownCounter(t *testing.T) {
	t.Parallel()
	client := emulatortest.New(t).Firestore()
	j, err := New(client, "nobody", zaptest.NewLogger(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = j.RunOnce(t.Context(), noon)
	if !errors.Is(err, counter.ErrNotFound) || !strings.Contains(err.Error(), "nobody") {
		t.Errorf("%v, want ErrNotFound with the name", err)
	}
}

func TestRun(t *testing.T) {
	t.Parallel()
	h := newHouse(t, "UTC")
	if h.job.Ready() == nil {
		t.Error("ready before the first run")
	}
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
	defer stop()
	var loop sync.WaitGroup
	loop.Go(func() { h.job.Run(ctx, 10*time.Millisecond) })
	it := h.client.Doc("counters/orders").Snapshots(ctx)
	defer it.Stop()
	h.order(0, 4, time.Now())
	for {
		snap, err := it.Next()
		if err != nil {
			t.Fatalf("the total never became 4: %v", err)
		}
		if snap.Data()["rollupTotal"] == int64(4) {
			break
		}
	}
	stop()
	loop.Wait()
	if err := h.job.Ready(); err != nil {
		t.Errorf("ready afterwards: %v", err)
	}
	if err := h.job.Live(time.Now().Add(runTimeout)); err != nil {
		t.Errorf("live while a run may still take its time: %v", err)
	}
	if err := h.job.Live(time.Now().Add(2 * deadAfter)); err == nil {
		t.Error("live though no run has ended for long")
	}
}

// TestLive_outage wants a loop to be live, and not ready, for as long as Firestore is away.
func TestLive_outage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn, err := grpc.NewClient("passthrough:///nowhere", grpc.WithContextDialer(
			func(context.Context, string) (net.Conn, error) { return nil, errors.New("away") }),
			grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		client, err := firestore.NewClient(t.Context(), "p", option.WithGRPCConn(conn))
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		j, err := New(client, "orders", zap.NewNop(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := j.Live(time.Now().Add(time.Hour)); err != nil {
			t.Errorf("before the loop: %v", err)
		}
		ctx, stop := context.WithCancel(t.Context())
		var loop sync.WaitGroup
		loop.Go(func() { j.Run(ctx, 10*time.Second) })
		for range 60 {
			time.Sleep(20 * time.Second)
			if err := j.Live(time.Now()); err != nil {
				t.Fatalf("Live: %v", err)
			}
		}
		if j.Ready() == nil {
			t.Error("ready without Firestore")
		}
		stop()
		loop.Wait()
	})
}

func TestFollowing(t *testing.T) {
	r := &counter.Reading{ReadTime: noon, Shards: []counter.Shard{
		{Number: 0, Count: 5}, {Number: 3, Count: 6}}}
	days := map[string]int64{"2026-11-29": 4, "2026-11-30": 7}
	want := counter.Rollup{Total: 11, Today: counter.DayTotal{Day: "2026-11-30", Total: 7},
		AsOf: noon, Shards: 2}
	if diff := cmp.Diff(want, following(r, "2026-11-30", days)); diff != "" {
		t.Errorf("the first (-want +got):\n%s", diff)
	}
	r.Rollup = counter.Rollup{Total: 8, AsOf: noon.Add(-1500 * time.Millisecond), LagMs: 9, LagEvents: 9}
	want.LagMs, want.LagEvents = 1500, 3
	if diff := cmp.Diff(want, following(r, "2026-11-30", days), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("the next (-want +got):\n%s", diff)
	}
}
