package main

import (
	"context"
	"strconv"

	dto "github.com/prometheus/client_model/go"

	"github.com/atlasmart/ordertally/internal/telemetry"
)

// A laneView is what a worker's lane has done since the worker started: the evidence for or
// against more shards.
type laneView struct {
	Commits   int64 `json:"commits"`   // that succeeded
	Contended int64 `json:"contended"` // that Firestore refused for contention
}

// scrapeLanes reads a worker's metrics, and returns its lanes by shard.
func scrapeLanes(ctx context.Context, url, counter string) (map[int]laneView, error) {
	families, err := telemetry.Scrape(ctx, url)
	if err != nil {
		return nil, err
	}
	return lanesOf(families["ordertally_commits_total"], counter), nil
}

func lanesOf(commits *dto.MetricFamily, counter string) map[int]laneView {
	lanes := map[int]laneView{}
	for _, m := range commits.GetMetric() {
		labels := map[string]string{}
		for _, l := range m.GetLabel() {
			labels[l.GetName()] = l.GetValue()
		}
		shard, err := strconv.Atoi(labels["shard"])
		if err != nil || labels["counter"] != counter {
			continue // a counter of very many shards, or another one
		}
		lane := lanes[shard]
		switch labels["outcome"] {
		case "ok":
			lane.Commits += int64(m.GetCounter().GetValue())
		case "contended":
			lane.Contended += int64(m.GetCounter().GetValue())
		}
		lanes[shard] = lane
	}
	return lanes
}
