package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/atlasmart/ordertally/internal/counter"
)

// A view is what show shows: the rollup as it stands, beside the exact state of this moment.
type view struct {
	Counter   string           `json:"counter"`
	Total     int64            `json:"total"` // of the last rollup
	Exact     int64            `json:"exact"` // of now
	AsOf      *time.Time       `json:"asOf"`  // null: never rolled up
	At        *time.Time       `json:"at"`
	AgeMs     *int64           `json:"ageMs"` // how far AsOf lies back, by the server's clock
	LagMs     int64            `json:"lagMs"`
	LagEvents int64            `json:"lagEvents"`
	Today     counter.DayTotal `json:"today"` // of the last rollup
	NumShards int              `json:"numShards"`
	Shards    []shardView      `json:"shards"`

	zone *time.Location
	now  time.Time // server time of the exact read
}

type shardView struct {
	Shard     int   `json:"shard"`
	Count     int64 `json:"count"`
	*laneView       // of one worker since it started; nil: not asked for
}

func newView(r *counter.Reading) view {
	v := view{
		Counter: r.Counter, Total: r.Rollup.Total, Exact: r.Total(),
		LagMs: r.Rollup.LagMs, LagEvents: r.Rollup.LagEvents, Today: r.Rollup.Today,
		NumShards: r.Definition.Shards, zone: r.Definition.Location, now: r.ReadTime,
		Shards: []shardView{},
	}
	if !r.Rollup.AsOf.IsZero() {
		age := r.ReadTime.Sub(r.Rollup.AsOf).Milliseconds()
		v.AsOf, v.At, v.AgeMs = &r.Rollup.AsOf, &r.Rollup.At, &age
	}
	for _, s := range r.Shards {
		v.Shards = append(v.Shards, shardView{Shard: s.Number, Count: s.Count})
	}
	return v
}

func show(ctx context.Context, p *program, asJSON bool, worker string) error {
	r, err := counter.Read(ctx, p.client, p.cfg.Counter)
	if err != nil {
		return err
	}
	v := newView(r)
	if worker != "" {
		lanes, err := scrapeLanes(ctx, worker, v.Counter)
		if err != nil { // the counts are right without it
			fmt.Fprintf(p.stderr, "the worker's metrics are not reachable: %v\n", err)
		}
		v.addLanes(lanes)
	}
	if asJSON {
		return writeJSON(p.stdout, v)
	}
	return v.write(p.stdout, paletteOf(p.stdout))
}

func writeJSON(w io.Writer, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("writing JSON: %w", err)
	}
	_, err = fmt.Fprintf(w, "%s\n", b)
	return err
}

// addLanes puts what a worker's lanes did beside their shards.
func (v view) addLanes(lanes map[int]laneView) {
	for i := range v.Shards {
		if lane, ok := lanes[v.Shards[i].Shard]; ok {
			v.Shards[i].laneView = &lane
		}
	}
}
