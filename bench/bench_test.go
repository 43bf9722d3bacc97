package main

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
)

func TestDistribution(t *testing.T) {
	var took []time.Duration
	for ms := 100; ms > 0; ms-- {
		took = append(took, time.Duration(ms)*time.Millisecond)
	}
	want := latency{P50: 50, P95: 95, P99: 99, Max: 100}
	if got := distribution(took); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := distribution(nil); got != (latency{}) {
		t.Errorf("of nothing: %+v", got)
	}
	if median([]float64{9, 1, 5}) != 5 || median([]float64{4, 1, 9, 6}) != 5 {
		t.Error("median is wrong")
	}
}

func TestDrive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := drive(t.Context(), 100, 10, time.Hour, func(i int) error {
			time.Sleep(time.Second)
			if i == 7 {
				return errors.New("no")
			}
			return nil
		})
		if r.elapsed != 10*time.Second || len(r.took) != 100 || r.errors != 1 {
			t.Errorf("100 calls of 1 s by 10 callers: %v, %d calls, %d errors", r.elapsed,
				len(r.took), r.errors)
		}
		r = drive(t.Context(), 100, 10, 3500*time.Millisecond, func(int) error {
			time.Sleep(time.Second)
			return nil
		})
		if len(r.took) != 40 {
			t.Errorf("%d calls within 3.5 s, want 40", len(r.took))
		}
	})
}

func writes(creates, increments int) *firestorepb.CommitRequest {
	req := &firestorepb.CommitRequest{}
	add := func(name string, p *firestorepb.Precondition) {
		req.Writes = append(req.Writes, &firestorepb.Write{CurrentDocument: p,
			Operation: &firestorepb.Write_Update{Update: &firestorepb.Document{Name: name}}})
	}
	for i := range creates {
		add(fmt.Sprint("marker-", i), &firestorepb.Precondition{})
	}
	for range increments {
		add("shard", nil)
	}
	return req
}

func TestCalls(t *testing.T) {
	var c calls
	refused := errors.New("refused")
	for _, err := range []error{nil, refused, nil} {
		invoke := func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error {
			return err
		}
		if got := c.unary(t.Context(), "Commit", writes(4, 1), nil, nil, invoke); got != err {
			t.Errorf("the interceptor changed the error to %v", got)
		}
	}
	got := []int64{c.commits.Load(), c.failed.Load(), c.writes.Load()}
	if diff := cmp.Diff([]int64{3, 1, 10}, got); diff != "" {
		t.Errorf("commits, failed, writes (-want +got):\n%s", diff)
	}
}

func TestModel(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	m := &model{CommitLatencyMs: 40, DocWrites: 2}
	for i, want := range []time.Duration{40, 540, 1040} { // the same shard, twice a second
		if got := m.delay(writes(10, 1), now); got != want*time.Millisecond {
			t.Errorf("commit %d is delayed by %v, want %v", i, got, want*time.Millisecond)
		}
	}
	if got := m.delay(writes(10, 0), now); got != 40*time.Millisecond {
		t.Errorf("a commit that only creates is delayed by %v, want the latency", got)
	}
	if got := m.delay(writes(0, 1), now.Add(time.Minute)); got != 40*time.Millisecond {
		t.Errorf("after a pause: %v, want the latency", got)
	}
}

// sample is a run of two rounds.
func sample() []record {
	var all []record
	for n := range 2 {
		f := float64(n)
		all = append(all,
			record{Mode: "textbook", Round: n, Orders: 100, Concurrency: 16, Shards: 10, GroupMax: 1,
				PerSecond: 1000 + 100*f, Writes: 200, Reads: 100, LatencyMs: latency{P50: 5, P99: 20}},
			record{Mode: "raw", Round: n, Orders: 100, Concurrency: 4, Shards: 10, GroupMax: 200,
				PerSecond: 20_000, Writes: 101, LatencyMs: latency{P50: 9, P99: 30}},
			record{Mode: "group", Round: n, Orders: 100, Concurrency: 4000, Shards: 10, GroupMax: 200,
				PerSecond: 16_800, Writes: 102, LatencyMs: latency{P50: 9, P99: 30}},
			record{Mode: "ack-only", Round: n, Orders: 100, Concurrency: 4000, Streams: 16, PerSecond: 20_000},
			record{Mode: "end-to-end", Round: n, Orders: 100, Concurrency: 4000, GroupMax: 200, Streams: 16,
				PerSecond: 10_500, Writes: 102})
		for streams, rates := range map[int][2]float64{1: {1400, 1500}, 2: {2100, 1900}} {
			for i, inFlight := range []int{64, 256} {
				all = append(all, record{Mode: "textbook-consumer", Round: n, Orders: 100,
					Concurrency: inFlight, GroupMax: 1, Streams: streams, PerSecond: rates[i]})
			}
		}
	}
	return all
}

func TestRatios(t *testing.T) {
	got := map[string]string{}
	for _, r := range medianRatios(sample()) {
		got[r.what] = fmt.Sprintf("%.2f", r.value)
	}
	want := map[string]string{
		"counter / textbook at its best":         "16.04",
		"counter / raw commits":                  "0.84",
		"worker / both ceilings in series":       "1.05",
		"worker / textbook consumer at its best": "7.00",
		"the same, textbook over 2 streams":      "5.00",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ratios (-want +got):\n%s", diff)
	}
}

func TestTable(t *testing.T) {
	var b strings.Builder
	if err := writeTable(&b, sample()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"textbook (16 at once)      1050   1000   1100", "group (groups of 200)  1020000",
		"shards by this run (50 orders in a group, 30 ms a commit)", "10000 "} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, b.String())
		}
	}
}

func TestShardsFor(t *testing.T) {
	if n := shardsFor(10_000, 50, 33.6); n != 6 {
		t.Errorf("10,000 orders/s in groups of 50, 33.6 a second: %d shards, want 6", n)
	}
	if n := shardsFor(1, 50, 33.6); n != 1 {
		t.Errorf("1 order/s: %d shards, want 1", n)
	}
}

func TestPlotIsSVG(t *testing.T) {
	d := xml.NewDecoder(strings.NewReader(string(plot(sample()))))
	var texts, bars int
	for {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := token.(xml.StartElement); ok {
			switch e.Name.Local {
			case "text":
				texts++
			case "rect":
				bars++
			}
		}
	}
	if texts != 2+3*9 || bars != 1+9 {
		t.Errorf("%d texts and %d bars for 9 stages", texts, bars)
	}
}
