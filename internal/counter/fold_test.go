package counter

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"pgregory.net/rapid"

	"github.com/atlasmart/ordertally/internal/emulator/emulatortest"
	"github.com/atlasmart/ordertally/internal/fault"
)

// A depot is a counter on the emulator whose shards are folded.
type depot struct {
	t      *testing.T
	client *firestore.Client
	store  *fireStore
	orders int // so many were counted
}

func newDepot(t *testing.T, client *firestore.Client, shards int) *depot {
	define(t, client, "orders", shards)
	return &depot{t: t, client: client,
		store: &fireStore{client: client, name: "orders", ttl: time.Hour}}
}

// count counts three orders of two days into each of the first shards.
func (d *depot) count(shards int) {
	d.t.Helper()
	for shard := range shards {
		var ids []string
		for range 3 {
			ids = append(ids, fmt.Sprintf("ord-%d@2026-11-3%d", d.orders, d.orders%2))
			d.orders++
		}
		b := &batch{shard: shard, commit: "c", entries: entriesOf(ids...)}
		if err := d.store.commit(d.t.Context(), b); err != nil {
			d.t.Fatal(err)
		}
	}
}

func (d *depot) reshard(shards int) {
	d.t.Helper()
	if _, err := Reshard(d.t.Context(), d.client, "orders", shards, "me"); err != nil {
		d.t.Fatal(err)
	}
}

// verify compares the shards with the markers: in all, by day, and by shard with what was folded.
func (d *depot) verify(docs int) {
	d.t.Helper()
	r, err := Read(d.t.Context(), d.client, "orders")
	if err != nil {
		d.t.Fatal(err)
	}
	snaps, err := d.client.Collection(markersCollection).Documents(d.t.Context()).GetAll()
	if err != nil {
		d.t.Fatal(err)
	}
	days, diff := map[string]int64{}, r.Folded()
	for _, s := range snaps {
		days[field[string](s, "day")]++
		diff[int(field[int64](s, "shard"))]++
	}
	for _, s := range r.Shards {
		diff[s.Number] -= s.Count
	}
	for shard, n := range diff {
		if n != 0 {
			d.t.Errorf("shard %d: markers and folds say %d more than its count", shard, n)
		}
	}
	if r.Total() != int64(d.orders) || len(snaps) != d.orders || len(r.Shards) != docs {
		d.t.Errorf("total %d, %d markers in %d shards, want %d of both in %d", r.Total(),
			len(snaps), len(r.Shards), d.orders, docs)
	}
	if diff := cmp.Diff(days, r.Days()); diff != "" {
		d.t.Errorf("days (-markers +shards):\n%s", diff)
	}
}

// TestFold goes through shapes down and up, so that what was folded is folded again, with several
// folds at once each time.
func TestFold(t *testing.T) {
	t.Parallel()
	d := newDepot(t, emulatortest.New(t).Firestore(), 10)
	d.count(10)
	for _, shards := range []int{4, 13, 5, 1} {
		d.reshard(shards)
		d.count(shards)
		var mu sync.Mutex
		moved := map[int]int64{}
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				folds, err := Fold(t.Context(), d.client, "orders", "me")
				if err != nil {
					t.Errorf("folding to %d: %v", shards, err)
				}
				mu.Lock()
				defer mu.Unlock()
				for _, f := range folds {
					moved[f.Shard] += f.Count
					if f.Shard < shards || f.Into != f.Shard%shards {
						t.Errorf("folded %+v, of %d shards", f, shards)
					}
				}
			})
		}
		wg.Wait()
		for shard, n := range moved {
			if n == 0 {
				t.Errorf("shard %d: no call says what it moved", shard)
			}
		}
		d.verify(shards)
	}
	if folds, err := Fold(t.Context(), d.client, "orders", "me"); len(folds) != 0 || err != nil {
		t.Errorf("where there is nothing to fold: %v, %v", folds, err)
	}
	var sum int64
	for _, r := range records(t, d.client, "folds") {
		sum += r["count"].(int64)
		if at, ok := r["at"].(time.Time); !ok || at.IsZero() || r["by"] != "me" {
			t.Errorf("record %v", r)
		}
	}
	if n := len(records(t, d.client, "folds")); n != 6+8+4 || sum == 0 {
		t.Errorf("%d folds of %d orders are recorded, want 18", n, sum)
	}
}

// TestFoldOnABrokenWire loses requests and answers, and stops folds in the middle.
func TestFoldOnABrokenWire(t *testing.T) {
	const faults = 12
	for _, tt := range []struct {
		code codes.Code
		kind fault.Kind
	}{{codes.Unavailable, fault.Lose}, {codes.Aborted, fault.Refuse}, {codes.Internal, fault.Lose}} {
		t.Run(fmt.Sprintf("%v %v", tt.code, tt.kind), func(t *testing.T) {
			t.Parallel()
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			w := fault.New(seed, fault.Rule{Kind: tt.kind, Code: tt.code, Share: 1. / 3, Times: faults,
				Methods: []string{"BeginTransaction", "Commit"}})
			env := emulatortest.New(t)
			d := newDepot(t, env.Firestore(), 12)
			d.count(12)
			d.reshard(2)
			broken := env.Firestore(w.Options()...)
			_, err := Fold(t.Context(), broken, "orders", "me")
			for tries := 0; err != nil && tries < faults; tries++ { // its first read is broken too
				_, err = Fold(t.Context(), broken, "orders", "me")
			}
			if err != nil {
				t.Errorf("Fold: %v", err)
			}
			d.verify(2)
			if w.Total() == 0 {
				t.Error("the wire never broke")
			}
		})
	}
}

func TestFoldStoppedInTheMiddle(t *testing.T) {
	t.Parallel()
	env := emulatortest.New(t)
	d := newDepot(t, env.Firestore(), 10)
	d.count(10)
	d.reshard(1)
	for round := 0; ; round++ {
		ctx, stop := context.WithCancel(t.Context())
		var commits int
		var mu sync.Mutex
		killed := env.Firestore(grpc.WithUnaryInterceptor(func(c context.Context, method string,
			req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption,
		) error {
			mu.Lock()
			if strings.HasSuffix(method, "/Commit") {
				if commits++; commits == 4 { // the first is the end of the read
					stop()
				}
			}
			mu.Unlock()
			return invoke(c, method, req, reply, cc, opts...)
		}))
		folds, err := Fold(ctx, killed, "orders", "me")
		stop()
		r, rerr := Read(t.Context(), d.client, "orders")
		if rerr != nil || r.Total() != int64(d.orders) {
			t.Fatalf("round %d: total %d, %v, want %d", round, r.Total(), rerr, d.orders)
		}
		if err == nil {
			if round == 0 {
				t.Error("was never stopped")
			}
			break
		}
		if round > 20 || len(folds) > 3 {
			t.Fatalf("round %d: folded %v before it was stopped (%v)", round, folds, err)
		}
	}
	d.verify(1)
}

// TestFoldWhileAnOldShardIsWritten folds again and again under a worker that never follows and
// one that has: the total is that of a counter that nobody folds, at any read time.
func TestFoldWhileAnOldShardIsWritten(t *testing.T) {
	t.Parallel()
	client := emulatortest.New(t).Firestore()
	d := newDepot(t, client, 6)
	const orders = 600
	d.reshard(2)
	var wg sync.WaitGroup
	for _, shards := range []int{6, 2} {
		c, err := New(client, "orders", Definition{Shards: shards, Location: time.UTC},
			Options{GroupMax: 5, MarkerTTL: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		wg.Go(func() {
			var adds sync.WaitGroup
			limit := make(chan struct{}, 40)
			for i := range orders {
				limit <- struct{}{}
				adds.Go(func() {
					if _, err := c.Add(t.Context(), order(fmt.Sprint("ord-", i))); err != nil {
						t.Errorf("adding: %v", err)
					}
					<-limit
				})
			}
			adds.Wait()
		})
	}
	ended := make(chan struct{})
	go func() { wg.Wait(); close(ended) }()
	moved := map[int]int64{}
	var last int64
	for working := true; working; {
		select {
		case <-ended:
			working = false
		default:
		}
		folds, err := Fold(t.Context(), client, "orders", "me")
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range folds {
			moved[f.Shard] += f.Count
		}
		r, err := Read(t.Context(), client, "orders")
		if err != nil || r.Total() < last {
			t.Fatalf("total %d after %d, %v", r.Total(), last, err)
		}
		last = r.Total()
	}
	d.orders = orders
	d.verify(2)
	t.Logf("moved %v", moved)
	if len(moved) != 4 {
		t.Errorf("moved %v, want shards 2 to 5", moved)
	}
}

// TestFoldOfManyDays needs more than one transaction.
func TestFoldOfManyDays(t *testing.T) {
	t.Parallel()
	client := emulatortest.New(t).Firestore()
	define(t, client, "orders", 2)
	shards := client.Collection("counters/orders/shards")
	days := map[string]any{}
	want := map[string]int64{}
	for i := range 2*foldFields + 7 {
		day := Day(noon.AddDate(0, 0, -i), time.UTC)
		days[day], want[day] = 2, 2
	}
	set(t, shards.Doc("0"), map[string]any{"count": 5, "days": map[string]any{"2026-11-30": 5}})
	set(t, shards.Doc("4"), map[string]any{"count": 2 * len(days), "days": days,
		"folded": map[string]any{"9": 3}})
	want["2026-11-30"] += 5
	folds, err := Fold(t.Context(), client, "orders", "me")
	if diff := cmp.Diff([]Folded{{4, 0, int64(2 * len(days))}}, folds); diff != "" || err != nil {
		t.Errorf("%v, folds (-want +got):\n%s", err, diff)
	}
	r, err := Read(t.Context(), client, "orders")
	if err != nil || len(r.Shards) != 1 || len(records(t, client, "folds")) != 3 {
		t.Fatalf("%+v, %v", r, err)
	}
	if diff := cmp.Diff(want, r.Days()); diff != "" {
		t.Errorf("days (-want +got):\n%s", diff)
	}
	n := int64(2 * len(days))
	got := r.Shards[0]
	if diff := cmp.Diff(map[int]int64{9: 3, 4: n - 3}, got.Folded); diff != "" || got.Count != n+5 {
		t.Errorf("count %d, folded (-want +got):\n%s", got.Count, diff)
	}
}

func TestFoldRefusesWhatIsNoShard(t *testing.T) {
	t.Parallel()
	client := emulatortest.New(t).Firestore()
	define(t, client, "orders", 1)
	shards := client.Collection("counters/orders/shards")
	set(t, shards.Doc("0"), map[string]any{"count": "many"}) // an increment would replace it
	set(t, shards.Doc("4"), map[string]any{"count": 2})
	_, err := Fold(t.Context(), client, "orders", "me")
	want := "counters/orders/shards/0: count is a string, want an integer"
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	set(t, shards.Doc("0"), map[string]any{"count": 1, "folded": map[string]any{"x": 1}})
	want = "counters/orders/shards/0: folded.x is no number of a shard"
	if _, err := Fold(t.Context(), client, "orders", "me"); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestPart takes a shard apart in parts of few fields: each moves the total and the days as they
// are, and keeps count and markers comparable.
func TestPart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		small := rapid.Int64Range(0, 9)
		from := Shard{Number: 50,
			Days:   rapid.MapOf(rapid.StringMatching("d[0-9]"), small).Draw(t, "days"),
			Folded: rapid.MapOf(rapid.IntRange(51, 60), small).Draw(t, "folded")}
		from.Count = sum(from.Days)
		days, folded := maps.Clone(from.Days), maps.Clone(from.Folded)
		own := from.Count - sum(folded)
		into := Shard{Days: map[string]int64{}, Folded: map[int]int64{}}
		total := from.Count
		fields := rapid.IntRange(1, 8).Draw(t, "fields")
		for parts := 0; ; parts++ {
			m := from.part(fields)
			if len(m.days)+len(m.folded) > fields+1 || parts > 30 {
				t.Fatalf("part %d moves %+v", parts, m)
			}
			into.Count += m.count
			for day, n := range m.days {
				into.Days[day] += n
				delete(from.Days, day)
			}
			for origin, n := range m.folded {
				into.Folded[origin] += n
				delete(from.Folded, origin)
			}
			from.Count -= m.count
			if from.Count < 0 || into.Count+from.Count != total || sum(into.Folded) != into.Count {
				t.Fatalf("after part %d: %+v and %+v", parts, from, into)
			}
			if m.whole {
				break
			}
		}
		folded[50] += own
		maps.DeleteFunc(into.Folded, func(_ int, n int64) bool { return n == 0 })
		maps.DeleteFunc(folded, func(_ int, n int64) bool { return n == 0 })
		if diff := cmp.Diff(folded, into.Folded); diff != "" {
			t.Fatalf("folded (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(days, into.Days); diff != "" || from.Count != 0 {
			t.Fatalf("%d left, days (-want +got):\n%s", from.Count, diff)
		}
	})
}
