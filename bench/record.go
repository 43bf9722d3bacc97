package main

import (
	"slices"
	"time"
)

// A record is one stage in one round: a line of JSON.
type record struct {
	Mode        string  `json:"mode"`
	Round       int     `json:"round"`
	Orders      int     `json:"orders"`
	Concurrency int     `json:"concurrency"` // callers, or messages in flight
	Shards      int     `json:"shards"`
	GroupMax    int     `json:"groupMax"`
	Streams     int     `json:"streams,omitempty"` // streaming pulls; none: not through Pub/Sub
	ElapsedMs   float64 `json:"elapsedMs"`
	PerSecond   float64 `json:"ordersPerSecond"`
	Writes      int64   `json:"writes"`  // documents, as sent in commits that succeeded
	Reads       int64   `json:"reads"`   // documents, as answered
	Commits     int64   `json:"commits"` // asked for
	Retries     int64   `json:"retries"` // commits that were refused, and so repeated
	Errors      int     `json:"errors"`
	LatencyMs   latency `json:"latencyMs"`
	Model       *model  `json:"model,omitempty"` // set: not this store, but a model of another
}

// latency is a distribution in milliseconds.
type latency struct {
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

func distribution(took []time.Duration) latency {
	if len(took) == 0 {
		return latency{}
	}
	slices.Sort(took)
	at := func(q float64) float64 {
		return float64(took[int(q*float64(len(took)-1))].Microseconds()) / 1000
	}
	return latency{P50: at(.5), P95: at(.95), P99: at(.99), Max: at(1)}
}

// median of a figure that is not empty.
func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	mid := len(v) / 2
	if len(v)%2 == 1 {
		return v[mid]
	}
	return (v[mid-1] + v[mid]) / 2
}
