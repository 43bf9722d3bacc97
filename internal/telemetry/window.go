package telemetry

import (
	"sync"
	"time"
)

// windowSeconds is how far back a Window remembers: a minute, and the second that is not over.
const windowSeconds = 61

// A Window counts events, and tells how many a second there were of late. The zero Window is
// empty. Its methods may be called at once.
type Window struct {
	mu      sync.Mutex
	total   int64
	seconds [windowSeconds]struct{ second, events int64 } // by Unix second modulo windowSeconds
}

// Add counts n events at now.
func (w *Window) Add(now time.Time, n int64) {
	second := now.Unix()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.total += n
	slot := &w.seconds[second%windowSeconds]
	if slot.second != second {
		slot.second, slot.events = second, 0
	}
	slot.events += n
}

// Total returns how many events there ever were.
func (w *Window) Total() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.total
}

// Rate returns the events a second over the last whole seconds before now, 1 to 60 of them.
func (w *Window) Rate(now time.Time, seconds int) float64 {
	end := now.Unix()
	begin := end - int64(seconds)
	w.mu.Lock()
	defer w.mu.Unlock()
	var events int64
	for _, slot := range w.seconds {
		if begin <= slot.second && slot.second < end {
			events += slot.events
		}
	}
	return float64(events) / float64(seconds)
}
