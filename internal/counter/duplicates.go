package counter

import "sync"

// A duplicates tells whether duplicates are frequent enough for the lanes to read the markers
// before they commit. A blind commit that meets one costs a refused commit, the reads and a second
// commit; reading first costs the reads each time. So reading first pays once about every second
// group holds one. The lanes share it: events go to them by a hash, so what one lane meets, the
// others are about to.
type duplicates struct {
	mu      sync.Mutex
	share   float64 // of the recent groups that held a known order, newest heaviest
	reading bool
}

const (
	duplicatesWeight = 0.25 // of the newest group
	duplicatesOften  = 0.5  // start to read first: after three groups in a row
	duplicatesRare   = 0.2  // stop: lower, so that they do not flap

	// duplicatesReplay known orders in one group are a replay, whatever came before: the next group
	// is read first.
	duplicatesReplay = 16
)

// observe notes how many orders of the newest group were known.
func (d *duplicates) observe(known int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.share *= 1 - duplicatesWeight
	if known > 0 {
		d.share += duplicatesWeight
	}
	if known >= duplicatesReplay {
		d.share = max(d.share, duplicatesOften)
	}
	if d.reading {
		d.reading = d.share > duplicatesRare
	} else {
		d.reading = d.share >= duplicatesOften
	}
}

// frequent reports whether the next group shall be read first.
func (d *duplicates) frequent() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.reading
}
