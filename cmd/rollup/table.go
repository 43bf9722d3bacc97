package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// write shows the view to people. Only what ends a line is painted: a tabwriter would take the
// escapes for columns.
func (v view) write(w io.Writer, p palette) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "counter\t%s\n", p.paint(bold, v.Counter))
	if v.AsOf == nil {
		fmt.Fprintf(t, "total\t%s\n", p.paint(yellow, "never rolled up"))
	} else {
		fmt.Fprintf(t, "total\t%d\tas of %s, %s\n", v.Total, stamp(*v.AsOf),
			p.paint(bold, words(millis(*v.AgeMs))+" ago"))
		fmt.Fprintf(t, "today\t%d\t%s in %s\n", v.Today.Total, v.Today.Day, v.zone)
		fmt.Fprintf(t, "lag\t%s\n", v.lag())
	}
	fmt.Fprintf(t, "exact\t%d\tat %s\n", v.Exact, stamp(v.now))
	fmt.Fprintf(t, "shards\t%d\t%s\n", v.NumShards, v.use(p))
	if err := t.Flush(); err != nil {
		return err
	}
	return v.histogram(w, p)
}

// lag says how far the total before this one was behind when this one came.
func (v view) lag() string {
	if v.LagMs == 0 {
		return "none, at the first rollup"
	}
	return fmt.Sprintf("the total before was %s and %s behind", words(millis(v.LagMs)),
		count(v.LagEvents, "order"))
}

// use says how many shards have orders, and how many the counter has no more.
func (v view) use(p palette) string {
	used, old := 0, 0
	for _, s := range v.Shards {
		if s.Count > 0 {
			used++
		}
		if v.old(s) {
			old++
		}
	}
	text := fmt.Sprintf("%d with orders", used)
	if old > 0 {
		text += ", " + p.paint(yellow, fmt.Sprintf("%d old", old)) +
			" (rollup reshard -fold moves what they counted)"
	}
	return text
}

// old reports whether the counter has the shard no more, though it counts.
func (v view) old(s shardView) bool { return s.Shard >= v.NumShards }

// lane is the columns of a shard's lane, if there is one.
func (s shardView) lane() string {
	if s.laneView == nil {
		return ""
	}
	return fmt.Sprintf("%d commits\t%d contended\t", s.Commits, s.Contended)
}

func (v view) histogram(w io.Writer, p palette) error {
	var most int64 = 1
	for _, s := range v.Shards {
		most = max(most, s.Count)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, s := range v.Shards {
		bar, color, note := bar(s.Count, most), cyan, ""
		if v.old(s) {
			color, note = yellow, "  old"
		}
		if bar != "" {
			bar = "  " + p.paint(color, bar)
		}
		share := 100 * float64(s.Count) / float64(max(1, v.Exact))
		fmt.Fprintf(t, "%d\t%d\t%.1f %%\t%s%s%s\n", s.Shard, s.Count, share, s.lane(), bar, note)
	}
	return t.Flush()
}

// barWidth is the longest bar of the histogram, in columns.
const barWidth = 40

// bar is n as a part of most, in eighths of a column; more than none is seen.
func bar(n, most int64) string {
	if n <= 0 {
		return ""
	}
	eighths := max(1, int(8*barWidth*(float64(n)/float64(most))))
	full := strings.Repeat("█", eighths/8)
	return full + []string{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"}[eighths%8]
}

func millis(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }

// words says a duration as people do: in the largest unit of which it has two.
func words(d time.Duration) string {
	for _, u := range []struct {
		unit time.Duration
		name string
	}{{24 * time.Hour, "day"}, {time.Hour, "hour"}, {time.Minute, "minute"}} {
		if n := d.Round(u.unit) / u.unit; n >= 2 {
			return count(int64(n), u.name)
		}
	}
	if n := d.Round(time.Second) / time.Second; n >= 1 {
		return count(int64(n), "second")
	}
	return "less than a second"
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05.000 UTC") }
