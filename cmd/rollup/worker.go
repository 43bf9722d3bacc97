package main

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// scrapeTimeout bounds the look at a worker: it is there or it is not.
const scrapeTimeout = 5 * time.Second

// A laneView is what a worker's lane has done since the worker started: the evidence for or
// against more shards.
type laneView struct {
	Commits   int64 `json:"commits"`   // that succeeded
	Contended int64 `json:"contended"` // that Firestore refused for contention
}

// scrapeLanes reads a worker's metrics, and returns its lanes by shard.
func scrapeLanes(ctx context.Context, url, counter string) (map[int]laneView, error) {
	ctx, cancel := context.WithTimeout(ctx, scrapeTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", url, res.Status)
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(res.Body)
	if err != nil {
		return nil, fmt.Errorf("reading the metrics of %s: %w", url, err)
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
