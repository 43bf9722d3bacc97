package counter

import (
	"context"
	"maps"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A fakeStore behaves like Firestore for the lanes, by the laws that testStore checks for both,
// and breaks on demand. Times are those of the synctest bubble it is used in.
type fakeStore struct {
	latency time.Duration // of each call
	hang    int           // the first so many calls never answer

	// refuse, if set, may refuse a commit before it is applied; lose, if set, may lose the
	// answer after it was. n counts the commits from 1.
	refuse, lose func(n int, b *batch) error
	// unread, if set, may fail the n-th read of markers.
	unread func(n int) error
	// unseen, if set, is what a look at the number of shards fails with.
	unseen error

	mu      sync.Mutex
	docs    map[EventID]Marker
	counts  map[int]int64
	days    map[int]map[string]int64
	commits [][]string // order ids of each commit that was asked for, applied or not
	reads   int        // calls of markers
	live    int        // the counter's shards
}

func newFakeStore() *fakeStore {
	return &fakeStore{docs: map[EventID]Marker{}, counts: map[int]int64{},
		days: map[int]map[string]int64{}}
}

func (s *fakeStore) commit(ctx context.Context, b *batch) error {
	if err := s.wait(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.commits = append(s.commits, orderIDs(b.entries))
	n := len(s.commits)
	if s.refuse != nil {
		if err := s.refuse(n, b); err != nil {
			return err
		}
	}
	if err := s.apply(b); err != nil {
		return err
	}
	if s.lose != nil {
		return s.lose(n, b)
	}
	return nil
}

func (s *fakeStore) apply(b *batch) error {
	fresh := map[EventID]Marker{}
	for _, e := range b.entries {
		if _, twice := fresh[e.id]; twice {
			return status.Error(codes.InvalidArgument, "created twice in one commit")
		}
		fresh[e.id] = Marker{Commit: b.commit, Shard: b.shard, Day: e.day}
	}
	for id := range fresh {
		if _, there := s.docs[id]; there {
			return status.Error(codes.AlreadyExists, "marker exists")
		}
	}
	maps.Copy(s.docs, fresh)
	s.counts[b.shard] += int64(len(b.entries))
	if s.days[b.shard] == nil {
		s.days[b.shard] = map[string]int64{}
	}
	for day, n := range b.days() {
		s.days[b.shard][day] += n
	}
	return nil
}

func (s *fakeStore) markers(ctx context.Context, ids []EventID) (map[EventID]Marker, error) {
	if err := s.wait(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	if s.unread != nil {
		if err := s.unread(s.reads); err != nil {
			return nil, err
		}
	}
	known := map[EventID]Marker{}
	for _, id := range ids {
		if m, ok := s.docs[id]; ok {
			known[id] = m
		}
	}
	return known, nil
}

func (s *fakeStore) numShards(ctx context.Context) (int, error) {
	if err := s.wait(ctx); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.live, s.unseen
}

// define changes what numShards answers.
func (s *fakeStore) define(live int, unseen error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.live, s.unseen = live, unseen
}

func (s *fakeStore) wait(ctx context.Context) error {
	s.mu.Lock()
	latency := s.latency
	if s.hang > 0 {
		s.hang--
		latency = time.Hour
	}
	s.mu.Unlock()
	if err := sleep(ctx, latency); err != nil {
		return status.FromContextError(err).Err()
	}
	return nil
}

// total is the sum of the shards, and the number of markers.
func (s *fakeStore) total() (count int64, markers int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.counts {
		count += n
	}
	return count, len(s.docs)
}

func orderIDs(entries []*entry) []string {
	var ids []string
	for _, e := range entries {
		ids = append(ids, e.order.ID)
	}
	return ids
}
