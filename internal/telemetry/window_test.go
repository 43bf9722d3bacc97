package telemetry

import (
	"testing"
	"time"
)

func TestWindow(t *testing.T) {
	start := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	at := func(seconds float64) time.Time {
		return start.Add(time.Duration(seconds * float64(time.Second)))
	}
	var w Window
	w.Add(at(0), 600)
	w.Add(at(0.9), 60)
	w.Add(at(55), 20)
	w.Add(at(59.5), 30)
	for _, tt := range []struct {
		now     float64
		seconds int
		want    float64
	}{
		{0.95, 10, 0}, // the second is not over
		{1, 10, 66},
		{10.9, 10, 66},
		{11, 10, 0},
		{59.9, 60, (660 + 20) / 60.},
		{60, 10, 5},
		{60, 60, (660 + 20 + 30) / 60.},
		{61, 60, (20 + 30) / 60.},
		{200, 60, 0},
	} {
		if got := w.Rate(at(tt.now), tt.seconds); got != tt.want {
			t.Errorf("at %v s over %d s: %v, want %v", tt.now, tt.seconds, got, tt.want)
		}
	}
	w.Add(at(61), 6) // in the slot of second 0
	if got := w.Rate(at(62), 60); got != (20+30+6)/60. {
		t.Errorf("after a slot was used again: %v", got)
	}
	if got := w.Total(); got != 716 {
		t.Errorf("total %d, want 716", got)
	}
}
