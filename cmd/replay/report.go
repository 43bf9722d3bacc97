package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/atlasmart/ordertally/internal/counter"
)

// A report is what replay prints. The fields from Expected on are those of -verify.
type report struct {
	Counter    string `json:"counter"`
	Published  int    `json:"published"`  // messages
	Orders     int    `json:"orders"`     // distinct ones that can be counted
	Duplicates int    `json:"duplicates"` // messages beyond the first of each order
	Ignored    int    `json:"ignored"`    // messages of another kind
	Invalid    int    `json:"invalid"`    // messages that can never be counted
	ElapsedMs  int64  `json:"elapsedMs"`

	*verified
}

type verified struct {
	Expected int64        `json:"expected"`
	Total    int64        `json:"total"`
	Markers  int64        `json:"markers"` // of the whole counter
	Missing  int          `json:"missing"` // orders of the file that have none
	OK       bool         `json:"ok"`
	Shards   []shardCount `json:"shards"`
	Days     []dayCount   `json:"days"`

	wrongDays int // orders that count for a day that is not theirs
	problems  []string
}

type shardCount struct {
	Shard int   `json:"shard"`
	Count int64 `json:"count"`
}

type dayCount struct {
	Day   string `json:"day"`
	Total int64  `json:"total"`
}

func newReport(c *config, bodies int, orders contents) *report {
	return &report{
		Counter:    c.counter,
		Published:  bodies * c.times,
		Orders:     len(orders.orders),
		Duplicates: (len(orders.orders)+orders.copies)*c.times - len(orders.orders),
		Ignored:    orders.ignored * c.times,
		Invalid:    orders.invalid * c.times,
	}
}

func (r *report) fill(expected int64, a *counter.AuditReport) {
	r.verified = &verified{Expected: expected, Total: a.Count, Markers: a.Markers,
		Shards: []shardCount{}, Days: []dayCount{}}
	for _, s := range a.Shards {
		r.Shards = append(r.Shards, shardCount{s.Shard, s.Count})
	}
	for _, d := range a.Days {
		r.Days = append(r.Days, dayCount{d.Day, d.Count})
	}
}

// judge says what is off, in words.
func (r *report) judge(a *counter.AuditReport) {
	r.problems = nil
	if r.wrongDays > 0 {
		r.problems = append(r.problems,
			fmt.Sprintf("%d orders count for a day that is not theirs", r.wrongDays))
	}
	if r.Missing > 0 {
		r.problems = append(r.problems, fmt.Sprintf("%d orders have no marker", r.Missing))
	}
	if r.Total != r.Expected {
		r.problems = append(r.problems,
			fmt.Sprintf("the total is %d, want %d", r.Total, r.Expected))
	}
	if !a.OK {
		r.problems = append(r.problems, fmt.Sprintf(
			"the audit found drift: %d markers, and the shards sum to %d", a.Markers, a.Count))
	}
	r.OK = len(r.problems) == 0
}

// err is nil unless a count is off.
func (r *report) err() error {
	if r.verified == nil || r.OK {
		return nil
	}
	return fmt.Errorf("%s is off: %s", r.Counter, strings.Join(r.problems, "; "))
}

func (r *report) writeJSON(w io.Writer) error {
	b, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("writing JSON: %w", err)
	}
	_, err = fmt.Fprintf(w, "%s\n", b)
	return err
}
