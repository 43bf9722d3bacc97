package consume

import "time"

// A Status is what a consumer does at one moment, for people.
type Status struct {
	Subscription string
	InFlight     int           // messages in hand
	Oldest       time.Duration // since the publish of the oldest of them
	Results      []ResultStatus
}

// A ResultStatus is how many messages were settled in one way.
type ResultStatus struct {
	Result string  // as in the metrics
	Per10s float64 // messages a second, over the last seconds
	Per1m  float64
	Total  int64
}

// shown is the order in which people look for the results.
var shown = []result{counted, duplicate, ignored, deadLettered, nacked}

// Status returns what the consumer does now.
func (c *Consumer) Status(now time.Time) Status {
	s := Status{Subscription: c.cfg.Subscription, InFlight: c.hand.size(), Oldest: c.hand.oldest(now)}
	for _, r := range shown {
		w := &c.metrics.windows[r]
		s.Results = append(s.Results, ResultStatus{Result: resultNames[r],
			Per10s: w.Rate(now, 10), Per1m: w.Rate(now, 60), Total: w.Total()})
	}
	return s
}
