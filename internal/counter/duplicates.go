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

	// duplicatesReplay known orders in one group are a replay, whatever came before: the next group
	// is read first. A replay of 12,000 orders has six groups a lane; half of them were refused
	// before the share alone had noticed.
	duplicatesReplay = 16
)

// observe notes how many orders of the newest group were known.
func (d *duplicates) observe(known int) {
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
func (d *duplicates) frequent() bool { return d.reading }
