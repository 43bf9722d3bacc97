package emulatortest

import "go.uber.org/goleak"

// LeakOptions returns what goleak is to overlook: goroutines that are nobody's to
// stop. Apart from these a Firestore or Pub/Sub client that was closed leaves none.
func LeakOptions() []goleak.Option {
	return []goleak.Option{
		// OpenCensus, which the Google clients link, starts it when it is loaded.
		goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"),
		// A subscriber's stream keeps this for up to ten seconds after Receive returned:
		// it looks whether the stream has ended only at its next tick.
		goleak.IgnoreTopFunction(
			"cloud.google.com/go/pubsub/v2.(*messageIterator).streamKeepAliveHandler"),
	}
}
