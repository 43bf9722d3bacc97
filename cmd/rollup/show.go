package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
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
	return v.write(p.stdout)
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

// write shows the view to people.
func (v view) write(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "counter\t%s\n", v.Counter)
	if v.AsOf == nil {
		fmt.Fprintf(t, "total\tnever rolled up\n")
	} else {
		fmt.Fprintf(t, "total\t%d\tas of %s, %s ago\n", v.Total, stamp(*v.AsOf), v.age())
		fmt.Fprintf(t, "today\t%d\t%s in %s\n", v.Today.Total, v.Today.Day, v.zone)
		fmt.Fprintf(t, "lag\t%s\t%d orders behind before the last rollup\n",
			millis(v.LagMs), v.LagEvents)
	}
	fmt.Fprintf(t, "exact\t%d\tat %s\n", v.Exact, stamp(v.now))
	fmt.Fprintf(t, "shards\t%d\t%d with orders\n", v.NumShards, v.used())
	if err := t.Flush(); err != nil {
		return err
	}
	return v.histogram(w)
}

func (v view) used() (n int) {
	for _, s := range v.Shards {
		if s.Count > 0 {
			n++
		}
	}
	return n
}

func (v view) age() string { return millis(*v.AgeMs) }

func millis(ms int64) string { return (time.Duration(ms) * time.Millisecond).String() }

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05.000 UTC") }

// barWidth is the longest bar of the histogram, in columns.
const barWidth = 40

// lane is the columns of a shard's lane, if there is one.
func (s shardView) lane() string {
	if s.laneView == nil {
		return ""
	}
	return fmt.Sprintf("%d commits\t%d contended\t", s.Commits, s.Contended)
}

func (v view) histogram(w io.Writer) error {
	var most int64 = 1
	for _, s := range v.Shards {
		most = max(most, s.Count)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, s := range v.Shards {
		bar := strings.Repeat("█", int(float64(barWidth)*float64(s.Count)/float64(most)))
		share := 100 * float64(s.Count) / float64(max(1, v.Exact))
		fmt.Fprintf(t, "%d\t%d\t%.1f %%\t%s  %s\n", s.Shard, s.Count, share, s.lane(), bar)
	}
	return t.Flush()
}
