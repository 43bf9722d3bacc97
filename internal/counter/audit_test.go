package counter

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/atlasmart/ordertally/internal/emulator/emulatortest"
)

// A ledger is a counter of two shards whose markers and counts a test writes by hand.
type ledger struct {
	t      *testing.T
	client *firestore.Client
	ttl    time.Duration
	today  string
}

func newLedger(t *testing.T, ttl time.Duration) *ledger {
	t.Helper()
	l := &ledger{t: t, client: emulatortest.New(t).Firestore(), ttl: ttl,
		today: Day(time.Now(), time.UTC)}
	define(t, l.client, "orders", 2)
	return l
}

// order counts orders of the given age into a shard, in one commit.
func (l *ledger) order(shard int, age time.Duration, ids ...string) {
	l.t.Helper()
	b := &batch{shard: shard, commit: "c-" + ids[0]}
	for _, id := range ids {
		at := time.Now().Add(-age)
		o := Order{ID: id, AcceptedAt: at, PublishedAt: at}
		b.entries = append(b.entries, &entry{id: o.Event("orders"), order: o, day: Day(at, time.UTC)})
	}
	s := &fireStore{client: l.client, name: "orders", ttl: l.ttl}
	if err := s.commit(l.t.Context(), b); err != nil {
		l.t.Fatal(err)
	}
}

// expire deletes markers as a TTL policy does, at any moment.
func (l *ledger) expire(ids ...string) {
	l.t.Helper()
	for _, id := range ids {
		doc := l.client.Collection("counterEvents").Doc(Order{ID: id}.Event("orders").String())
		if _, err := doc.Delete(l.t.Context()); err != nil {
			l.t.Fatal(err)
		}
	}
}

// add changes what a shard counts, behind the markers' back.
func (l *ledger) add(shard int, count int, days map[string]int) {
	l.t.Helper()
	data := map[string]any{"count": firestore.Increment(count)}
	if len(days) > 0 {
		m := map[string]any{}
		for day, n := range days {
			m[day] = firestore.Increment(n)
		}
		data["days"] = m
	}
	_, err := l.client.Doc("counters/orders/shards/"+strconv.Itoa(shard)).
		Set(l.t.Context(), data, firestore.MergeAll)
	if err != nil {
		l.t.Fatal(err)
	}
}

// audit audits with a seal that reaches up to the audit itself: nothing is under way.
func (l *ledger) audit() *AuditReport {
	l.t.Helper()
	a, err := Audit(l.t.Context(), l.client, "orders")
	if err != nil {
		l.t.Fatal(err)
	}
	a.margin = 0
	return a
}

func (l *ledger) seal(a *AuditReport, acceptedBy string) int64 {
	l.t.Helper()
	n, err := a.Seal(l.t.Context(), l.client, acceptedBy)
	if err != nil {
		l.t.Fatal(err)
	}
	return n
}

// want compares the sums of an audit: markers, count, drift, sealed, unknown, strays.
func (l *ledger) want(what string, a *AuditReport, ok bool, sums ...int64) {
	l.t.Helper()
	got := []int64{a.Markers, a.Count, a.Drift, a.Sealed, a.Unknown, a.Strays}
	if a.OK != ok || !slices.Equal(got, sums) {
		l.t.Errorf("%s: ok %v, markers, count, drift, sealed, unknown, strays %d, want %v and %d",
			what, a.OK, got, ok, sums)
	}
}

func (l *ledger) shards() map[string]any {
	l.t.Helper()
	docs, err := l.client.Collection("counters/orders/shards").Documents(l.t.Context()).GetAll()
	if err != nil {
		l.t.Fatal(err)
	}
	out := map[string]any{}
	for _, d := range docs {
		out[d.Ref.ID] = d.Data()
	}
	return out
}

func TestAuditFindsDrift(t *testing.T) {
	t.Parallel()
	l := newLedger(t, time.Hour)
	l.order(1, 0, "a", "b", "c")
	l.want("at first", l.audit(), true, 3, 3, 0, 0, 0, 0)
	markers := l.client.Collection("counterEvents")
	set(t, markers.Doc("other"), map[string]any{"counter": "another", "shard": 1, "day": l.today})
	l.want("with another counter's marker", l.audit(), true, 3, 3, 0, 0, 0, 0)
	moved := markers.Doc(Order{ID: "c"}.Event("orders").String())
	moveTo := func(day string) {
		t.Helper()
		_, err := moved.Update(t.Context(), []firestore.Update{{Path: "day", Value: day}})
		if err != nil {
			t.Fatal(err)
		}
	}
	moveTo("2026-01-01")
	a := l.audit()
	l.want("with a marker of another day", a, false, 3, 3, 0, 0, 0, 0)
	if a.Shards[1].Drift != 0 || a.Days[0].Drift != 1 {
		t.Errorf("with a marker of another day: shards %+v, days %+v", a.Shards, a.Days)
	}
	moveTo(l.today)
	stray := map[string]any{"counter": "orders"} // names no shard and no day
	set(t, markers.Doc("stray"), stray)
	l.want("with a stray", l.audit(), false, 4, 3, -1, 0, 0, 1)
	if _, err := markers.Doc("stray").Delete(t.Context()); err != nil {
		t.Fatal(err)
	}
	l.expire("b") // which has not expired
	a = l.audit()
	l.want("with a marker lost", a, false, 2, 3, 1, 0, 0, 0)
	want := []AuditShard{{}, {Shard: 1, Markers: 2, Count: 3, Drift: 1}}
	if diff := cmp.Diff(want, a.Shards, cmpopts.IgnoreUnexported(AuditShard{})); diff != "" ||
		a.Days[0].Drift != 1 {
		t.Errorf("days %+v, shards (-want +got):\n%s", a.Days, diff)
	}
	set(t, markers.Doc("stray"), stray)
	l.want("with a stray that makes up for it", l.audit(), false, 3, 3, 0, 0, 0, 1)
	set(t, markers.Doc("stray"), map[string]any{"counter": "orders", "shard": 2, "day": l.today,
		"createdAt": firestore.ServerTimestamp})
	l.want("with one of a shard that is none", l.audit(), false, 3, 3, 0, 0, 0, 1)
	l.add(7, 2, map[string]int{l.today: 2})
	a = l.audit()
	if s := a.Shards[len(a.Shards)-1]; s.Shard != 7 || !s.Beyond || s.Drift != 2 {
		t.Errorf("a shard beyond the definition: %+v", s)
	}
}

// TestSealOutlivesMarkers goes through the life of a counter with a TTL policy: what an audit
// sealed is never looked for again, and what happens after it is told exactly.
func TestSealOutlivesMarkers(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	l := newLedger(t, 35*day)
	l.order(0, 34*day, "a", "b")
	l.order(1, 36*day, "c", "d") // expired, and not yet deleted
	l.want("before the first seal", l.audit(), true, 4, 4, 0, 0, 0, 0)
	early, late := l.audit(), l.audit()
	if n := l.seal(late, ""); n != 4 {
		t.Errorf("sealed %d orders, want 4", n)
	}
	if n := l.seal(early, ""); n != 0 {
		t.Errorf("an older audit at once sealed %d orders over a seal that reaches further", n)
	}
	l.expire("a", "c")
	l.want("half of them deleted", l.audit(), true, 4, 4, 0, 4, 0, 0)
	l.expire("b", "d")
	l.want("all of them deleted", l.audit(), true, 4, 4, 0, 4, 0, 0)
	l.order(1, 34*day, "late") // accepted long ago, counted now
	l.order(0, 0, "new")
	l.want("with new ones, one of an old day", l.audit(), true, 6, 6, 0, 4, 0, 0)
	l.add(0, 1, nil)
	a := l.audit()
	l.want("with drift in a sealed shard", a, false, 6, 7, 1, 4, 0, 0)
	if a.Shards[0].Drift != 1 || a.Shards[1].Drift != 0 {
		t.Errorf("shards: %+v", a.Shards)
	}
	if n := l.seal(a, ""); n != 0 {
		t.Errorf("an audit with drift sealed %d orders", n)
	}
	l.add(0, -1, nil)
	if n := l.seal(l.audit(), ""); n != 2 {
		t.Errorf("sealed %d more orders, want 2", n)
	}
	l.expire("late", "new")
	l.want("in the end", l.audit(), true, 6, 6, 0, 6, 0, 0)
}

func TestSealLeavesTheYoungestOut(t *testing.T) {
	t.Parallel()
	l := newLedger(t, time.Hour)
	l.order(0, 0, "a", "b")
	l.order(1, 30*time.Hour, "c")
	a := l.audit()
	a.margin = time.Hour
	if n := l.seal(a, ""); n != 0 || l.audit().SealedTo != nil {
		t.Errorf("sealed %d orders of the last hour", n)
	}
	first := l.audit()
	l.seal(first, "")
	l.order(0, 0, "d")
	a = l.audit()
	a.margin = a.ReadTime.Sub(first.ReadTime) - time.Millisecond // just after the first
	next, err := a.nextSeal(t.Context(), l.client, a.ReadTime.Add(-a.margin))
	if err != nil || next.Shards[0] != 2 || next.Shards[1] != 1 || next.Days[l.today] != 2 {
		t.Errorf("%v, the next seal is %+v, want it without the youngest order", err, next)
	}
}

// TestExpiredIsUnknown is a counter that was audited too late: markers are gone that nobody
// verified.
func TestExpiredIsUnknown(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	l := newLedger(t, 35*day)
	l.order(0, 36*day, "a", "b", "c")
	l.order(1, 36*day, "d")
	l.order(1, 0, "e")
	l.expire("a", "d")
	before := l.shards()
	a := l.audit()
	l.want("with two expired ones gone", a, true, 3, 5, 0, 0, 2, 0)
	if a.Shards[0].Unknown != 1 || a.Shards[1].Unknown != 1 {
		t.Errorf("shards: %+v", a.Shards)
	}
	if p, err := a.Repair(t.Context(), l.client); !errors.Is(err, ErrUnrepairable) {
		t.Errorf("a repair of what is unknown: %+v, %v", p, err)
	}
	if n := l.seal(a, ""); n != 0 {
		t.Errorf("sealed %d orders, some of them unknown", n)
	}
	l.expire("e") // which has not expired: the rest is told apart from it
	a = l.audit()
	if a.OK || a.Drift != 1 || a.Unknown != 2 {
		t.Errorf("with drift beside it: %+v", a)
	}
	l.add(1, -1, map[string]int{l.today: -1})
	if n := l.seal(l.audit(), "ann"); n != 4 {
		t.Errorf("sealed %d orders on ann's word, want 4", n)
	}
	l.want("accepted", l.audit(), true, 4, 4, 0, 4, 0, 0)
	got, err := l.client.Doc("counters/orders/repairs/000001").Get(t.Context())
	if err != nil || got.Data()["by"] != "ann" || got.Data()["unknown"] != int64(2) {
		t.Errorf("the record: %v, %v", err, got.Data())
	}
	if diff := cmp.Diff(before["0"], l.shards()["0"]); diff != "" {
		t.Errorf("accepting changed the shard (-before +after):\n%s", diff)
	}
}

// TestExpiredByAShortTTL has workers whose TTL is shorter than the audit was told: the markers
// that are left show it.
func TestExpiredByAShortTTL(t *testing.T) {
	t.Parallel()
	l := newLedger(t, time.Millisecond)
	l.order(0, 0, "a", "b")
	l.order(1, 0, "c")
	l.expire("a")
	l.want("with an expired one gone", l.audit(), true, 2, 3, 0, 0, 1, 0)
}

func TestRepair(t *testing.T) {
	t.Parallel()
	l := newLedger(t, time.Hour)
	l.order(0, 0, "a", "b", "c")
	l.order(1, 0, "d", "e")
	sound := l.shards()
	if p, err := l.audit().Repair(t.Context(), l.client); p != nil || err != nil {
		t.Errorf("of a sound counter: %+v, %v", p, err)
	}
	l.add(0, 2, map[string]int{l.today: 2})
	l.add(1, -1, map[string]int{l.today: -1})
	a := l.audit()
	l.want("before", a, false, 5, 6, 1, 0, 0, 0)
	var plans [4]*Repair
	for i := range plans { // several look at one state
		var err error
		if plans[i], err = a.Repair(t.Context(), l.client); err != nil {
			t.Fatal(err)
		}
	}
	want := []ShardRepair{{Shard: 0, Count: -2, Days: map[string]int64{l.today: -2}},
		{Shard: 1, Count: 1, Days: map[string]int64{l.today: 1}}}
	if diff := cmp.Diff(want, plans[0].Shards); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
	var wg sync.WaitGroup
	var applied [len(plans)]bool
	for i, p := range plans {
		wg.Go(func() {
			var err error
			if applied[i], err = p.Apply(t.Context(), l.client, fmt.Sprint("op-", i)); err != nil {
				t.Errorf("repair %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	if n := len(slices.DeleteFunc(applied[:], func(b bool) bool { return !b })); n != 1 {
		t.Errorf("%d of %d repairs at once were applied, want 1", n, len(plans))
	}
	if diff := cmp.Diff(sound, l.shards()); diff != "" {
		t.Errorf("shards (-sound +repaired):\n%s", diff)
	}
	l.want("after", l.audit(), true, 5, 5, 0, 0, 0, 0)
	docs, err := l.client.Collection("counters/orders/repairs").Documents(t.Context()).GetAll()
	if err != nil || len(docs) != 1 {
		t.Fatalf("%d records, %v, want 1", len(docs), err)
	}
	record := docs[0].Data()
	if at, ok := record["at"].(time.Time); !ok || time.Since(at).Abs() > time.Minute {
		t.Errorf("recorded at %v", record["at"])
	}
	for _, name := range []string{"at", "by", "commit"} {
		delete(record, name)
	}
	wantRecord := map[string]any{"kind": "repair", "readTime": a.ReadTime.UTC(), "drift": int64(1),
		"schemaVersion": int64(1), "shards": map[string]any{
			"0": map[string]any{"count": int64(-2), "days": map[string]any{l.today: int64(-2)}},
			"1": map[string]any{"count": int64(1), "days": map[string]any{l.today: int64(1)}}}}
	if diff := cmp.Diff(wantRecord, record); diff != "" {
		t.Errorf("record (-want +got):\n%s", diff)
	}
	l.add(1, 1, nil) // the same again, of the count alone
	p, err := l.audit().Repair(t.Context(), l.client)
	if err != nil || p.Number != 2 {
		t.Fatalf("%+v, %v, want the second repair", p, err)
	}
	l.order(1, 0, "f") // counted between the look and the repair
	if ok, err := p.Apply(t.Context(), l.client, "ann"); !ok || err != nil {
		t.Errorf("the second repair: %v, %v", ok, err)
	}
	l.want("in the end", l.audit(), true, 6, 6, 0, 0, 0, 0)
}

// TestAuditWhileOrdersFlow audits and seals over and over while orders come and sealed markers are
// deleted: none of the audits may find anything.
func TestAuditWhileOrdersFlow(t *testing.T) {
	t.Parallel()
	l := newLedger(t, 35*24*time.Hour)
	c, err := New(l.client, "orders", Definition{Shards: 2, Location: time.UTC},
		Options{GroupMax: 20, MarkerTTL: l.ttl})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var flow sync.WaitGroup
	defer flow.Wait()
	for w := range 3 {
		flow.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				at := time.Now().AddDate(0, 0, -18*(i%3))
				o := Order{ID: fmt.Sprint(w, "-", i), AcceptedAt: at, PublishedAt: at}
				if _, err := c.Add(ctx, o); err != nil && ctx.Err() == nil {
					t.Errorf("adding an order: %v", err)
				}
			}
		})
	}
	var sealed int64
	for i := range 5 {
		a := l.audit()
		a.margin = 200 * time.Millisecond
		if !a.OK || a.Unknown != 0 {
			t.Errorf("audit %d: %+v", i, a)
		}
		sealed += l.seal(a, "")
		l.sweep(a.seal.UpTo)
	}
	stop()
	flow.Wait()
	if a := l.audit(); !a.OK || a.Unknown != 0 || a.Sealed != sealed || sealed == 0 {
		t.Errorf("at rest, with %d orders sealed: %+v", sealed, a)
	}
}

// sweep deletes some of the markers that were created up to t.
func (l *ledger) sweep(t time.Time) {
	l.t.Helper()
	docs, err := l.client.Collection("counterEvents").Where("createdAt", "<=", t).Limit(50).
		Documents(l.t.Context()).GetAll()
	if err != nil {
		l.t.Fatal(err)
	}
	for _, d := range docs {
		if _, err := d.Ref.Delete(l.t.Context()); err != nil {
			l.t.Fatal(err)
		}
	}
}

// TestQueriesCoverAMarker: each field of a marker is either indexed because a named query uses
// the index, or exempt.
func TestQueriesCoverAMarker(t *testing.T) {
	indexed := map[string]bool{}
	for _, q := range Queries() {
		for _, f := range q.Single {
			indexed[f] = true
		}
	}
	exempt := map[string]bool{}
	for _, e := range Exemptions() {
		if e.Collection == markersCollection {
			exempt[e.Field] = true
		}
	}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[markerDocument]()) {
		f, _, _ := strings.Cut(field.Tag.Get("firestore"), ",")
		if indexed[f] == exempt[f] {
			t.Errorf("%s: a named query uses its index: %v, exempt: %v", f, indexed[f], exempt[f])
		}
		delete(exempt, f)
	}
	for f := range exempt {
		t.Errorf("%s is exempt, and no field of a marker", f)
	}
}
