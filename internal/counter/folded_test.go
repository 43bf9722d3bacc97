package counter

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// foldedLedger is a ledger of four shards whose orders were folded into two, and shard 2 again into 0.
func foldedLedger(t *testing.T) *ledger {
	t.Helper()
	l := newLedger(t, 35*24*time.Hour)
	reshape := func(shards int) {
		t.Helper()
		if _, err := Reshard(t.Context(), l.client, "orders", shards, "ann"); err != nil {
			t.Fatal(err)
		}
		if _, err := Fold(t.Context(), l.client, "orders", "ann"); err != nil {
			t.Fatal(err)
		}
	}
	reshape(4)
	l.order(0, 0, "a", "b")
	l.order(1, 0, "c")
	l.order(2, 0, "d", "e", "f")
	l.order(3, 36*24*time.Hour, "old")
	reshape(3)
	reshape(2)
	return l
}

// TestAuditAfterFold audits, repairs and seals a counter whose markers name shards that are gone.
func TestAuditAfterFold(t *testing.T) {
	t.Parallel()
	l := foldedLedger(t)
	sound := l.shards()
	a := l.audit()
	l.want("after the folds", a, true, 7, 7, 0, 0, 0, 0)
	var folded []int64
	for _, s := range a.Shards {
		folded = append(folded, s.Folded)
	}
	if diff := cmp.Diff([]int64{4, 0, -3, -1}, folded); diff != "" {
		t.Errorf("folded (-want +got):\n%s", diff)
	}
	if p, err := a.Repair(t.Context(), l.client); p != nil || err != nil {
		t.Errorf("a repair of what is sound: %+v, %v", p, err)
	}
	l.expire("d") // which has not expired: a marker of a shard without a document
	a = l.audit()
	l.want("with a marker lost", a, false, 6, 7, 1, 0, 0, 0)
	p, err := a.Repair(t.Context(), l.client)
	if err != nil {
		t.Fatal(err)
	}
	want := []ShardRepair{{Shard: 0, Count: -1, Days: map[string]int64{l.today: -1},
		Folded: map[int]int64{2: -1}}}
	if diff := cmp.Diff(want, p.Shards); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
	if ok, err := p.Apply(t.Context(), l.client, "ann"); !ok || err != nil {
		t.Errorf("the repair: %v, %v", ok, err)
	}
	l.want("repaired", l.audit(), true, 6, 6, 0, 0, 0, 0)
	l.order(2, 0, "d") // and counted by a worker that has not followed
	l.want("with a late worker", l.audit(), true, 7, 7, 0, 0, 0, 0)
	if _, err := Fold(t.Context(), l.client, "orders", "ann"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sound, l.shards()); diff != "" {
		t.Errorf("shards (-before +after all):\n%s", diff)
	}
	if n := l.seal(l.audit(), ""); n != 7 {
		t.Errorf("sealed %d orders, want 7", n)
	}
	l.expire("a", "e", "old")
	l.want("sealed, and some expired", l.audit(), true, 7, 7, 0, 7, 0, 0)
}

// TestExpiredAfterFold has an order expire whose shard is gone.
func TestExpiredAfterFold(t *testing.T) {
	t.Parallel()
	l := foldedLedger(t)
	l.expire("old")
	a := l.audit()
	l.want("with an expired one gone", a, true, 6, 7, 0, 0, 1, 0)
	if s := a.Shards[3]; s.Unknown != 1 || s.Drift != 0 {
		t.Errorf("the shard that is gone: %+v", s)
	}
}

// TestRepairFailsOnAFold folds a shard between the look and the repair, which must not bring it
// back with a count of its own.
func TestRepairFailsOnAFold(t *testing.T) {
	t.Parallel()
	l := newLedger(t, time.Hour)
	l.order(1, 0, "a", "b")
	l.add(1, 1, map[string]int{l.today: 1})
	p, err := l.audit().Repair(t.Context(), l.client)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Reshard(t.Context(), l.client, "orders", 1, "ann"); err != nil {
		t.Fatal(err)
	}
	if _, err := Fold(t.Context(), l.client, "orders", "ann"); err != nil {
		t.Fatal(err)
	}
	if ok, err := p.Apply(t.Context(), l.client, "ann"); ok || err == nil {
		t.Errorf("the repair: %v, %v, want it refused", ok, err)
	}
	l.want("after it", l.audit(), false, 2, 3, 1, 0, 0, 0)
}

func TestSpread(t *testing.T) {
	family := []AuditShard{{Shard: 1, days: map[string]int64{"d": 2}},
		{Shard: 4, days: map[string]int64{"d": 5}}, {Shard: 9}}
	for drift, want := range map[int64]map[int]int64{
		-3: {4: -3},
		0:  {},
		4:  {4: 4},
		6:  {4: 5, 1: 1},
		8:  {4: 6, 1: 2},
	} {
		if diff := cmp.Diff(want, spread(drift, "d", family)); diff != "" {
			t.Errorf("%d (-want +got):\n%s", drift, diff)
		}
	}
}
