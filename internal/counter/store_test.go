package counter

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/atlasmart/ordertally/internal/emulator/emulatortest"
)

// A kept is what a store keeps of one shard.
type kept struct {
	Count int64
	Days  map[string]int64
}

// A lab is a store under test and a look at what it keeps.
type lab struct {
	store
	shards func(t *testing.T) map[int]kept
}

func fakeLab(*testing.T) lab {
	s := newFakeStore()
	s.live = 10
	return lab{s, func(*testing.T) map[int]kept {
		s.mu.Lock()
		defer s.mu.Unlock()
		all := map[int]kept{}
		for i, n := range s.counts {
			all[i] = kept{n, s.days[i]}
		}
		return all
	}}
}

func fireLab(t *testing.T) lab { return fireLabOn(t, emulatortest.New(t).Firestore()) }

func maskedLab(t *testing.T) lab {
	return fireLabOn(t, emulatortest.New(t).Firestore(grpc.WithChainStreamInterceptor(MaskMarkers)))
}

func fireLabOn(t *testing.T, client *firestore.Client) lab {
	t.Helper()
	define(t, client, "orders", 10)
	return lab{&fireStore{client: client, name: "orders", ttl: time.Hour},
		func(t *testing.T) map[int]kept {
			r, err := Read(t.Context(), client, "orders")
			if err != nil {
				t.Fatal(err)
			}
			all := map[int]kept{}
			for _, s := range r.Shards {
				all[s.Number] = kept{s.Count, s.Days}
			}
			return all
		}}
}

func define(t *testing.T, client *firestore.Client, name string, shards int) Definition {
	t.Helper()
	def, _, err := Define(t.Context(), client, name, Definition{Shards: shards, Location: time.UTC})
	if err != nil {
		t.Fatal(err)
	}
	return def
}

// TestStore holds the fake, which the lanes are tested on, and Firestore to the same laws.
func TestStore(t *testing.T) {
	for name, make := range map[string]func(*testing.T) lab{
		"fake": fakeLab, "firestore": fireLab, "firestore with masked reads": maskedLab,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testStore(t, make)
		})
	}
}

// entries makes an entry of each "id" or "id@day".
func entriesOf(ids ...string) []*entry {
	var es []*entry
	for _, id := range ids {
		day := "2026-11-30"
		if i := len(id) - len("@2026-11-30"); i > 0 && id[i] == '@' {
			id, day = id[:i], id[i+1:]
		}
		es = append(es, &entry{id: order(id).Event("orders"), order: order(id), day: day})
	}
	return es
}

func (l lab) want(t *testing.T, want map[int]kept) {
	t.Helper()
	if diff := cmp.Diff(want, l.shards(t)); diff != "" {
		t.Errorf("shards (-want +got):\n%s", diff)
	}
}

func (l lab) mustCommit(t *testing.T, shard int, name string, ids ...string) {
	t.Helper()
	b := &batch{shard: shard, commit: name, entries: entriesOf(ids...)}
	if err := l.commit(t.Context(), b); err != nil {
		t.Fatal(err)
	}
}

func eventsOf(ids ...string) []EventID {
	var events []EventID
	for _, e := range entriesOf(ids...) {
		events = append(events, e.id)
	}
	return events
}

func testStore(t *testing.T, make func(*testing.T) lab) {
	t.Run("the number of shards is the definition's", func(t *testing.T) {
		l := make(t)
		if n, err := l.numShards(t.Context()); n != 10 || err != nil {
			t.Errorf("%d shards, %v, want 10", n, err)
		}
	})
	t.Run("a commit creates markers and adds to its shard", func(t *testing.T) {
		l := make(t)
		l.mustCommit(t, 3, "one", "a", "b@2026-12-01")
		l.mustCommit(t, 3, "two", "c")
		l.mustCommit(t, 9, "three", "d")
		l.want(t, map[int]kept{
			3: {3, map[string]int64{"2026-11-30": 2, "2026-12-01": 1}},
			9: {1, map[string]int64{"2026-11-30": 1}},
		})
		got, err := l.markers(t.Context(), eventsOf("a", "b", "nobody", "d"))
		if err != nil {
			t.Fatal(err)
		}
		ev := eventsOf("a", "b", "d")
		want := map[EventID]Marker{
			ev[0]: {Commit: "one", Shard: 3, Day: "2026-11-30"},
			ev[1]: {Commit: "one", Shard: 3, Day: "2026-12-01"},
			ev[2]: {Commit: "three", Shard: 9, Day: "2026-11-30"},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("markers (-want +got):\n%s", diff)
		}
	})
	t.Run("an existing marker refuses the whole commit", func(t *testing.T) {
		l := make(t)
		l.mustCommit(t, 3, "one", "a", "b")
		for _, ids := range [][]string{{"b"}, {"x", "b"}, {"a", "x", "y"}, {"a", "b"}} {
			err := l.commit(t.Context(), &batch{shard: 5, commit: "two", entries: entriesOf(ids...)})
			if status.Code(err) != codes.AlreadyExists || judge(err) != exists {
				t.Errorf("commit of %v: %v, want AlreadyExists", ids, err)
			}
		}
		l.want(t, map[int]kept{3: {2, map[string]int64{"2026-11-30": 2}}})
		got, err := l.markers(t.Context(), eventsOf("x", "y"))
		if err != nil || len(got) != 0 {
			t.Errorf("markers of the neighbours: %v, %v, want none", got, err)
		}
	})
	t.Run("the same marker twice in a commit is refused", func(t *testing.T) {
		l := make(t)
		err := l.commit(t.Context(), &batch{commit: "one", entries: entriesOf("a", "a")})
		if judge(err) != refused {
			t.Errorf("%v, want InvalidArgument", err)
		}
		l.want(t, map[int]kept{})
	})
	t.Run("the largest group, each order on its own day", func(t *testing.T) {
		l := make(t)
		var ids []string
		days := map[string]int64{}
		for i := range MaxGroup {
			day := Day(noon.AddDate(0, 0, -i), time.UTC)
			ids = append(ids, fmt.Sprint("ord-", i, "@", day))
			days[day] = 1
		}
		l.mustCommit(t, 1, "one", ids...)
		l.want(t, map[int]kept{1: {MaxGroup, days}})
		got, err := l.markers(t.Context(), eventsOf(ids...))
		if err != nil || len(got) != MaxGroup {
			t.Errorf("%d markers, %v, want %d", len(got), err, MaxGroup)
		}
	})
	t.Run("an ended context writes nothing", func(t *testing.T) {
		l := make(t)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		err := l.commit(ctx, &batch{commit: "one", entries: entriesOf("a")})
		if judge(err) != transient || err == nil {
			t.Errorf("commit: %v, want a transient error", err)
		}
		if _, err := l.markers(ctx, eventsOf("a")); err == nil {
			t.Error("markers: no error")
		}
		l.want(t, map[int]kept{})
	})
	t.Run("of racing commits of one marker, one wins", func(t *testing.T) {
		l := make(t)
		var wg sync.WaitGroup
		results := [8]codes.Code{}
		for i := range results {
			wg.Go(func() {
				own := fmt.Sprint("own-", i)
				err := l.commit(t.Context(), &batch{shard: i, commit: own,
					entries: entriesOf(own, "shared")})
				results[i] = status.Code(err)
			})
		}
		wg.Wait()
		won := 0
		for _, code := range results {
			switch code {
			case codes.OK:
				won++
			case codes.AlreadyExists, codes.Aborted:
			default:
				t.Errorf("a loser got %v", code)
			}
		}
		if got := l.shards(t); won != 1 || len(got) != 1 {
			t.Errorf("%d commits won, %v was written, want one", won, got)
		}
	})
}
