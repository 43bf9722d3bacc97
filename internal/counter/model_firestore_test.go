package counter

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"golang.org/x/sync/errgroup"
	"pgregory.net/rapid"

	"github.com/atlasmart/ordertally/internal/emulator/emulatortest"
)

var (
	modelSeed = flag.Int("model.seed", 0, "run this seed of TestModelOnFirestore alone")
	modelRuns = flag.Int("model.runs", 300, "seeds of TestModelOnFirestore")
)

// modelAtOnce is how many scenarios play at once: they wait most of the time.
const modelAtOnce = 16

// TestModelOnFirestore is TestModel on the emulator and in real time, with fewer orders a seed.
func TestModelOnFirestore(t *testing.T) {
	t.Parallel()
	client := emulatortest.New(t).Firestore()
	first, runs := int(rand.Int32()), *modelRuns
	if *modelSeed != 0 {
		first, runs = *modelSeed, 1
	}
	scenarios := rapid.Custom(func(t *rapid.T) scenario { return drawScenario(t, 30, 3) })
	var faults atomic.Int64
	var g errgroup.Group
	g.SetLimit(modelAtOnce)
	for seed := first; seed < first+runs; seed++ {
		g.Go(func() error {
			s := scenarios.Example(seed)
			if err := s.playOnFirestore(t, client, fmt.Sprint("orders-", seed), &faults); err != nil {
				t.Errorf("%v\nagain: go test -run 'TestModelOnFirestore$' -model.seed %d\n%+v",
					err, seed, s)
			}
			return nil
		})
	}
	_ = g.Wait()
	recordModel(t, runs, "the Firestore emulator", int(faults.Load()))
}

func (s scenario) playOnFirestore(
	t *testing.T, client *firestore.Client, name string, faults *atomic.Int64,
) error {
	ctx := t.Context()
	_, _, err := Define(ctx, client, name, Definition{Shards: s.Shards, Location: time.UTC})
	if err != nil {
		return err
	}
	fated := &fatedStore{store: &fireStore{client: client, name: name, ttl: time.Hour},
		commits: s.Commits, reads: s.Reads}
	w := world{settle: func() {}, reshard: func(n int) {
		if _, err := Reshard(ctx, client, name, n, "model"); err != nil {
			t.Error(err)
		}
	}}
	if err := s.play(fated, name, w); err != nil {
		return err
	}
	faults.Add(int64(fated.hits))
	r, err := Read(ctx, client, name)
	if err != nil {
		return err
	}
	var ids []EventID
	for _, d := range s.Deliveries {
		ids = append(ids, modelOrder(d.ID).Event(name))
	}
	markers, err := Markers(ctx, client, ids)
	if err != nil {
		return err
	}
	return s.verify(r.Days(), markers)
}
