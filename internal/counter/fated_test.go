package counter

import (
	"context"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"pgregory.net/rapid"
)

// A fate is what becomes of one call of a store.
type fate struct {
	Code codes.Code // OK: nothing special
	Lost bool       // the call is made, and its answer is lost
}

func drawFate(of []codes.Code) *rapid.Generator[fate] {
	return rapid.Custom(func(t *rapid.T) fate {
		return fate{rapid.SampledFrom(of).Draw(t, "code"), rapid.Bool().Draw(t, "lost")}
	})
}

// around makes the call as the fate will have it.
func (f fate) around(call func() error) error {
	err := status.Error(f.Code, "fate")
	if f.Code == codes.OK {
		return call()
	}
	if f.Lost {
		_ = call() // nobody hears of it
	}
	return err
}

// A fatedStore is a store whose first calls of each kind go by their fates.
type fatedStore struct {
	store store

	mu             sync.Mutex
	commits, reads []fate
	hits           int
}

func (s *fatedStore) commit(ctx context.Context, b *batch) error {
	return s.next(&s.commits).around(func() error { return s.store.commit(ctx, b) })
}

func (s *fatedStore) markers(
	ctx context.Context, ids []EventID,
) (known map[EventID]Marker, err error) {
	err = s.next(&s.reads).around(func() error {
		known, err = s.store.markers(ctx, ids)
		return err
	})
	return known, err
}

func (s *fatedStore) numShards(ctx context.Context) (int, error) { return s.store.numShards(ctx) }

func (s *fatedStore) next(fates *[]fate) fate {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(*fates) == 0 {
		return fate{}
	}
	f := (*fates)[0]
	*fates = (*fates)[1:]
	if f.Code != codes.OK {
		s.hits++
	}
	return f
}
