package counter

// A duplicates tells whether duplicates are frequent enough for a lane to read the markers
// before it commits. A blind commit that meets one costs a refused commit, the reads and a second
// commit; reading first costs the reads each time. So reading first pays once about every second
// group holds one.
type duplicates struct {
	share   float64 // of the recent groups that held a known order, newest heaviest
	reading bool
}

const (
	duplicatesWeight = 0.25 // of the newest group
	duplicatesOften  = 0.5  // start to read first: after three groups in a row
	duplicatesRare   = 0.2  // stop: lower, so that the lane does not flap
)

// observe notes whether the newest group held a known order.
func (d *duplicates) observe(met bool) {
	d.share *= 1 - duplicatesWeight
	if met {
		d.share += duplicatesWeight
	}
	if d.reading {
		d.reading = d.share > duplicatesRare
	} else {
		d.reading = d.share >= duplicatesOften
	}
}

// frequent reports whether the next group shall be read first.
func (d *duplicates) frequent() bool { return d.reading }
