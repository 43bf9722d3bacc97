package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

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

	problems []string
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

// maxDays is how many days are listed for people.
const maxDays = 10

func (r *report) write(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "published\t%d\tmessages in %v\n", r.Published,
		time.Duration(r.ElapsedMs)*time.Millisecond)
	fmt.Fprintf(t, "orders\t%d\tdistinct, and %d copies\n", r.Orders, r.Duplicates)
	if r.Ignored+r.Invalid > 0 {
		fmt.Fprintf(t, "others\t%d\tignored, and %d invalid\n", r.Ignored, r.Invalid)
	}
	if r.verified != nil {
		fmt.Fprintf(t, "total\t%d\twant %d\n", r.Total, r.Expected)
		fmt.Fprintf(t, "markers\t%d\t%d missing\n", r.Markers, r.Missing)
		r.writeDays(t)
	}
	if err := t.Flush(); err != nil || r.verified == nil {
		return err
	}
	return r.histogram(w)
}

func (r *report) writeDays(w io.Writer) {
	for i, d := range r.Days {
		if i == maxDays {
			fmt.Fprintf(w, "\t\tand %d more days\n", len(r.Days)-maxDays)
			return
		}
		fmt.Fprintf(w, "%s\t%d\t\n", d.Day, d.Total)
	}
}

func (r *report) histogram(w io.Writer) error {
	var most int64 = 1
	for _, s := range r.Shards {
		most = max(most, s.Count)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, s := range r.Shards {
		bar := strings.Repeat("█", int(barWidth*float64(s.Count)/float64(most)))
		fmt.Fprintf(t, "shard %d\t%d\t  %s\n", s.Shard, s.Count, bar)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	verdict := "exact"
	if !r.OK {
		verdict = "OFF: " + strings.Join(r.problems, "; ")
	}
	_, err := fmt.Fprintln(w, verdict)
	return err
}
