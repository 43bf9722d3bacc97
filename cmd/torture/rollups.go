package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/atlasmart/ordertally/internal/child"
	"github.com/atlasmart/ordertally/internal/counter"
)

const (
	rollupsAtOnce = 3
	rollupEvery   = "1s"
)

// rollups are several rollup processes of one counter, which must not disturb each other.
type rollups struct {
	*house
	running []*child.Child
	looks   int
}

func (r *rollups) start() error {
	for i := range rollupsAtOnce {
		c, err := child.Start(fmt.Sprintf("rollup-%d", i+1), r.logs, []string{
			"GOOGLE_CLOUD_PROJECT=" + r.project, "FIRESTORE_EMULATOR_HOST=" + r.store.Addr,
			"ROLLUP_COUNTER=" + counterName, "ROLLUP_EVERY=" + rollupEvery, "ROLLUP_LISTEN=",
		}, r.path("rollup"))
		if err != nil {
			return err
		}
		r.running = append(r.running, c)
	}
	return nil
}

// watch wants rollupTotal and rollupAsOf never to go back, and never to be above the truth.
func (r *rollups) watch(ctx context.Context) error {
	var last counter.Rollup
	for tick := time.NewTimer(0); ; tick.Reset(sampleEvery) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
		reading, err := counter.Read(ctx, r.documents, counterName)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		now := reading.Rollup
		if now.Total < last.Total || now.AsOf.Before(last.AsOf) || now.Total > reading.Total() {
			return fmt.Errorf("rollup %+v after %+v, where the shards say %d",
				now, last, reading.Total())
		}
		last = now
		r.looks++
	}
}

// retire stops the rollups, which must exit with 0.
func (r *rollups) retire() error {
	var errs []error
	for _, c := range r.running {
		errs = append(errs, c.Stop(child.Grace))
	}
	r.running = nil
	return errors.Join(errs...)
}

// clear kills those that are left.
func (r *rollups) clear() {
	for _, c := range r.running {
		c.Kill()
	}
}
