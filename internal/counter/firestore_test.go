package counter

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/atlasmart/ordertally/internal/emulator/emulatortest"
)

func TestDefine(t *testing.T) {
	t.Parallel()
	client := emulatortest.New(t).Firestore()
	seoul, err := time.LoadLocation("Asia/Seoul")
	if err != nil {
		t.Fatal(err)
	}
	const workers = 8
	var created [workers]bool
	var wg sync.WaitGroup
	for i := range workers { // several workers start at once, with settings that differ
		wg.Go(func() {
			def, made, err := Define(t.Context(), client, "orders",
				Definition{Shards: i + 1, Location: seoul})
			created[i] = made
			if err != nil || def.Location.String() != "Asia/Seoul" || def.CreatedAt.IsZero() {
				t.Errorf("worker %d: %+v, %v", i, def, err)
			}
		})
	}
	wg.Wait()
	first := -1
	for i, made := range created {
		if made && first >= 0 {
			t.Errorf("workers %d and %d both created the counter", first, i)
		}
		if made {
			first = i
		}
	}
	def, made, err := Define(t.Context(), client, "orders",
		Definition{Shards: 99, Location: time.UTC})
	if err != nil || made || def.Shards != first+1 || def.Location.String() != "Asia/Seoul" {
		t.Errorf("later: %+v, created %v, %v, want the definition of worker %d",
			def, made, err, first)
	}
}

func TestDefineRefusesABadDocument(t *testing.T) {
	t.Parallel()
	client := emulatortest.New(t).Firestore()
	doc := client.Collection("counters").Doc("orders")
	if _, err := doc.Set(t.Context(), map[string]any{"numShards": "ten"}); err != nil {
		t.Fatal(err)
	}
	_, _, err := Define(t.Context(), client, "orders", Definition{Shards: 1, Location: time.UTC})
	if err == nil || !strings.HasPrefix(err.Error(), "counters/orders: ") {
		t.Errorf("%v, want an error that names the document", err)
	}
}

// TestMarkerDocument compares the whole document with the design's.
func TestMarkerDocument(t *testing.T) {
	t.Parallel()
	client := emulatortest.New(t).Firestore()
	define(t, client, "orders", 10)
	s := &fireStore{client: client, name: "orders", ttl: 48 * time.Hour}
	accepted := time.Date(2026, 11, 30, 10, 15, 0, 123456000, time.FixedZone("", 9*3600))
	plain := Order{ID: "ord-9001", AcceptedAt: accepted,
		PublishedAt: accepted.Add(time.Hour), MessageID: "77"}
	early := Order{ID: "ord-9002", Source: "legacy-erp", AcceptedAt: accepted.Add(3 * time.Hour),
		PublishedAt: accepted, MessageID: "78"}
	b := &batch{shard: 4, commit: "nonce-1"}
	for _, o := range []Order{plain, early} {
		b.entries = append(b.entries, &entry{id: o.Event("orders"), order: o, day: "2026-11-30"})
	}
	if err := s.commit(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	common := map[string]any{"counter": "orders", "kind": "ORDER_ACCEPTED", "shard": int64(4),
		"day": "2026-11-30", "commit": "nonce-1", "schemaVersion": int64(1)}
	for _, tt := range []struct {
		order Order
		want  map[string]any
	}{
		{plain, map[string]any{"orderId": "ord-9001", "acceptedAt": accepted.UTC(),
			"expireAt": accepted.Add(49 * time.Hour).UTC(), "messageId": "77"}},
		{early, map[string]any{"orderId": "ord-9002", "source": "legacy-erp",
			"acceptedAt": accepted.Add(3 * time.Hour).UTC(),
			"expireAt":   accepted.Add(51 * time.Hour).UTC(), "messageId": "78"}},
	} {
		doc := client.Collection("counterEvents").Doc(tt.order.Event("orders").String())
		snap, err := doc.Get(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got := snap.Data()
		if at, ok := got["createdAt"].(time.Time); !ok || snap.ReadTime.Sub(at).Abs() > time.Minute {
			t.Errorf("createdAt is %v, want about %v", got["createdAt"], snap.ReadTime)
		}
		delete(got, "createdAt")
		for k, v := range common {
			tt.want[k] = v
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("marker of %s (-want +got):\n%s", tt.order.ID, diff)
		}
	}
}

// TestCounterOnFirestore sends the same orders through two workers at once, some of them several
// times, and reads and audits what became of them.
func TestCounterOnFirestore(t *testing.T) {
	t.Parallel()
	client := emulatortest.New(t).Firestore()
	def := define(t, client, "orders", 4)
	const orders = 300
	var mu sync.Mutex
	outcomes := map[string][]Outcome{}
	var wg sync.WaitGroup
	for range 2 {
		c, err := New(client, "orders", def, Options{GroupMax: 20, MarkerTTL: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		for i := range orders {
			o := order(fmt.Sprint("ord-", i))
			o.AcceptedAt = noon.AddDate(0, 0, i%3)
			for range 1 + i%2 {
				wg.Go(func() {
					got, err := c.Add(t.Context(), o)
					if err != nil {
						t.Errorf("adding %s: %v", o.ID, err)
					}
					mu.Lock()
					defer mu.Unlock()
					outcomes[o.ID] = append(outcomes[o.ID], got)
				})
			}
		}
	}
	wg.Wait()
	for id, got := range outcomes {
		counted := 0
		for _, o := range got {
			if o == Counted {
				counted++
			}
		}
		if counted != 1 {
			t.Errorf("%s was counted %d times: %v", id, counted, got)
		}
	}
	a, err := Audit(t.Context(), client, "orders")
	if err != nil {
		t.Fatal(err)
	}
	if !a.OK || a.Count != orders || a.Markers != orders || len(a.Shards) != 4 {
		t.Errorf("audit: %+v", a)
	}
	want := []AuditDay{{Day: "2026-11-30", Markers: 100, Count: 100},
		{Day: "2026-12-01", Markers: 100, Count: 100}, {Day: "2026-12-02", Markers: 100, Count: 100}}
	if diff := cmp.Diff(want, a.Days, cmpopts.IgnoreUnexported(AuditDay{})); diff != "" {
		t.Errorf("days (-want +got):\n%s", diff)
	}
}

func TestReadUnknownCounter(t *testing.T) {
	t.Parallel()
	client := emulatortest.New(t).Firestore()
	_, err := Read(t.Context(), client, "nobody")
	if !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), `"nobody"`) {
		t.Errorf("Read: %v, want ErrNotFound with the name", err)
	}
	if _, err := Audit(t.Context(), client, "nobody"); !errors.Is(err, ErrNotFound) {
		t.Errorf("Audit: %v, want ErrNotFound", err)
	}
	if _, err := RollupAge(t.Context(), client, "nobody"); !errors.Is(err, ErrNotFound) {
		t.Errorf("RollupAge: %v, want ErrNotFound", err)
	}
}

func TestReadCountsShardsBeyondTheDefinition(t *testing.T) {
	t.Parallel()
	client := emulatortest.New(t).Firestore()
	define(t, client, "orders", 2)
	shards := client.Collection("counters").Doc("orders").Collection("shards")
	set(t, shards.Doc("1"), map[string]any{"count": 5, "days": map[string]any{"2026-11-30": 5}})
	set(t, shards.Doc("17"), map[string]any{"count": 7, "days": map[string]any{"2026-11-30": 7}})
	r, err := Read(t.Context(), client, "orders")
	if err != nil {
		t.Fatal(err)
	}
	if r.Total() != 12 || r.Days()["2026-11-30"] != 12 || len(r.Shards) != 2 {
		t.Errorf("read %+v", r)
	}
	set(t, shards.Doc("0"), map[string]any{"count": "many"})
	_, err = Read(t.Context(), client, "orders")
	if err == nil || err.Error() != "counters/orders/shards/0: count is a string, want an integer" {
		t.Errorf("%v, want an error that names the shard", err)
	}
}

// TestAuditFindsLostDays takes away the only days that a shard knew: its orders and its markers are
// as many as before, and their day is in no shard any more.
func TestAuditFindsLostDays(t *testing.T) {
	t.Parallel()
	client := emulatortest.New(t).Firestore()
	define(t, client, "orders", 2)
	s := &fireStore{client: client, name: "orders", ttl: time.Hour}
	if err := s.commit(t.Context(), &batch{shard: 1, entries: entriesOf("a", "b")}); err != nil {
		t.Fatal(err)
	}
	set(t, client.Doc("counters/orders/shards/1"), map[string]any{"count": 2})
	_, err := Audit(t.Context(), client, "orders")
	if want := "counters/orders/shards/1: count is 2, and days sum to 0"; text(err) != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func set(t *testing.T, doc *firestore.DocumentRef, data map[string]any) {
	t.Helper()
	if _, err := doc.Set(t.Context(), data); err != nil {
		t.Fatal(err)
	}
}
