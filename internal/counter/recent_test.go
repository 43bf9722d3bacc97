package counter

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	gocmp "github.com/google/go-cmp/cmp"

	"github.com/atlasmart/ordertally/internal/emulator/emulatortest"
)

// mark writes a marker that was created at the given moment.
func mark(t *testing.T, client *firestore.Client, shard int, id, day string, at time.Time) string {
	t.Helper()
	event := Order{ID: id}.Event("orders").String()
	set(t, client.Collection("counterEvents").Doc(event), map[string]any{"counter": "orders",
		"orderId": id, "shard": shard, "day": day, "createdAt": at})
	return event
}

// TestRecent lists orders of four shards, one of them beyond the definition, one empty, one with
// most of the orders, and many created in the same moment.
func TestRecent(t *testing.T) {
	t.Parallel()
	client := emulatortest.New(t).Firestore()
	define(t, client, "orders", 3)
	set(t, client.Doc("counters/orders/shards/7"), map[string]any{"count": 0})
	var all []CountedOrder
	add := func(shard int, id, day string, at time.Time) {
		all = append(all, CountedOrder{Event: mark(t, client, shard, id, day, at), Shard: shard,
			CreatedAt: at, Day: day, ID: id})
	}
	for i := range 40 {
		shard, day := []int{0, 0, 0, 1, 7}[i%5], "2026-11-30"
		if i%4 == 0 {
			day = "2026-11-29"
		}
		add(shard, fmt.Sprint("ord-", i), day, noon.Add(time.Duration(i/7)*time.Second))
	}
	mark(t, client, 1, "of another", "2026-11-30", noon)
	_, err := client.Collection("counterEvents").Doc(Order{ID: "of another"}.Event("orders").String()).
		Update(t.Context(), []firestore.Update{{Path: "counter", Value: "another"}})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(all, func(a, b CountedOrder) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), strings.Compare(b.Event, a.Event))
	})
	for _, day := range []string{"", "2026-11-29", "2026-01-01"} {
		for _, n := range []int{1, 3, 9, 10, 40, 100} {
			var got, want []string
			for _, o := range all {
				if day == "" || o.Day == day {
					want = append(want, o.ID)
				}
			}
			token, pages := "", 0
			for done := false; !done && pages < 50; pages++ {
				l, err := Recent(t.Context(), client, "orders", day, token, n)
				if err != nil {
					t.Fatal(err)
				}
				for _, o := range l.Orders {
					got = append(got, o.ID)
				}
				token, done = l.Next, l.Next == ""
				if n == 1 && pages == 4 { // enough of the small ones
					got, want = got[:min(5, len(got))], want[:min(5, len(want))]
					break
				}
			}
			if diff := gocmp.Diff(want, got); diff != "" {
				t.Errorf("day %q, %d a page (-want +got):\n%s", day, n, diff)
			}
		}
	}
}

func TestRecentGoesOnWhileOrdersCome(t *testing.T) {
	t.Parallel()
	client := emulatortest.New(t).Firestore()
	define(t, client, "orders", 2)
	for i := range 6 {
		mark(t, client, i%2, fmt.Sprint("ord-", i), "2026-11-30", noon.Add(time.Duration(i)*time.Second))
	}
	first, err := Recent(t.Context(), client, "orders", "", "", 3)
	if err != nil {
		t.Fatal(err)
	}
	mark(t, client, 1, "newer", "2026-11-30", noon.Add(time.Minute))
	second, err := Recent(t.Context(), client, "orders", "", first.Next, 3)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range append(first.Orders, second.Orders...) {
		got = append(got, o.ID)
	}
	want := []string{"ord-5", "ord-4", "ord-3", "ord-2", "ord-1", "ord-0"}
	if diff := gocmp.Diff(want, got); diff != "" || second.Next != "" {
		t.Errorf("next %q, orders (-want +got):\n%s", second.Next, diff)
	}
}

func TestPage(t *testing.T) {
	good := page{Counter: "orders", Day: "2026-11-30", Created: noon,
		Event: Order{ID: "a"}.Event("orders").String()}
	if got, err := parsePage(good.String(), "orders", "2026-11-30"); got != good || err != nil {
		t.Errorf("%+v, %v, want what was written", got, err)
	}
	short := good
	short.Event = "ab"
	for _, tt := range []struct{ token, counter, day, want string }{
		{"nonsense!", "orders", "", "it is not one that this command printed"},
		{"bm9uc2Vuc2U", "orders", "", "it is not one that this command printed"},
		{good.String()[1:], "orders", "2026-11-30", "it is not one that this command printed"},
		{short.String(), "orders", "2026-11-30", "it is not one that this command printed"},
		{page{}.String(), "", "", "it is not one that this command printed"},
		{good.String(), "other", "2026-11-30", `it is of the counter "orders", not of "other"`},
		{good.String(), "orders", "", "it is of the day 2026-11-30, not of all days"},
		{good.String(), "orders", "2026-12-01", "it is of the day 2026-11-30, not of the day 2026-12-01"},
	} {
		err := CheckPage(tt.token, tt.counter, tt.day)
		if !errors.Is(err, ErrBadPage) || err.Error() != "bad page token: "+tt.want {
			t.Errorf("%s of %s %s: %v, want %s", tt.token, tt.counter, tt.day, err, tt.want)
		}
	}
}
