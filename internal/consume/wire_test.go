package consume

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/atlasmart/ordertally/internal/evidence"
	"github.com/atlasmart/ordertally/internal/fault"
)

var (
	lineSeed  = flag.Uint64("wire.seed", 0, "the seed of the faults; 0: by chance")
	lineFault = flag.String("wire.fault", "", "run the faults whose name matches, alone")
	lineMixes = flag.Int("wire.mixes", 2, "runs with all faults at random")
	lineAway  = flag.Duration("wire.away", 3*time.Second, "how long a server is away")
)

// A lineFaults is one way in which a line goes wrong.
type lineFaults struct {
	name, how       string
	store, messages []fault.Rule
	breaks          []codes.Code // of the streams, one after the other
	away            bool         // Pub/Sub is away for a while
}

// retried are the codes of a broken stream that the client deals with by itself. Of all others it
// drops the acknowledgements that are on the way, and Receive ends.
var retried = []codes.Code{codes.Unavailable, codes.Internal, codes.DeadlineExceeded, codes.Aborted}

var ended = []codes.Code{codes.Unauthenticated, codes.PermissionDenied, codes.NotFound,
	codes.ResourceExhausted, codes.Unknown, codes.Canceled, codes.OutOfRange,
	codes.FailedPrecondition, codes.InvalidArgument, codes.Unimplemented}

func lines() []lineFaults {
	commit, acks := []string{"Commit"}, []string{"Acknowledge", "ModifyAckDeadline"}
	each := func(kind fault.Kind, times int, methods []string, of ...[]codes.Code) (rules []fault.Rule) {
		for _, code := range slices.Concat(of...) {
			rules = append(rules, fault.Rule{Kind: kind, Code: code, Methods: methods, Times: times})
		}
		return rules
	}
	all := []lineFaults{
		{name: "a stream breaks, and the client reopens it",
			how: fmt.Sprint("interceptor, StreamingPull ends with ", retried), breaks: retried},
		{name: "acknowledgements fail", how: "interceptor, every code, before and after the call",
			messages: slices.Concat(each(fault.Refuse, 1, acks, fault.Transient, fault.World),
				each(fault.Lose, 1, acks, fault.Transient, fault.World))},
		{name: "Pub/Sub is away", how: fmt.Sprint("interceptor, Unavailable for ", *lineAway), away: true},
		{name: "a call to Firestore fails before it is made",
			how:   "interceptor, every transient code",
			store: each(fault.Refuse, 2, nil, fault.Transient)},
		{name: "the answer of a call to Firestore is lost",
			how:   "interceptor, every transient code",
			store: each(fault.Lose, 2, nil, fault.Transient)},
		{name: "Firestore refuses the worker for a while",
			how: fmt.Sprint("interceptor, Commit fails with ", fault.World,
				", FailedPrecondition, OutOfRange or Unimplemented"),
			store: each(fault.Refuse, 2, commit, fault.World,
				[]codes.Code{codes.FailedPrecondition, codes.OutOfRange, codes.Unimplemented})},
		{name: "a commit hangs until its deadline", how: "interceptor, it never reaches Firestore",
			store: []fault.Rule{{Kind: fault.Hang, Methods: commit, Times: 2}}},
		{name: "a commit applies and its answer never comes", how: "interceptor, until its deadline",
			store: []fault.Rule{{Kind: fault.Mute, Methods: commit, Times: 2}}},
		{name: "Firestore is slow", how: "interceptor, 300 ms more for each call",
			store: []fault.Rule{{Kind: fault.Slow, For: 300 * time.Millisecond}}},
		{name: "Firestore is away", how: fmt.Sprint("interceptor, Unavailable for ", *lineAway),
			store: []fault.Rule{{Kind: fault.Down, For: *lineAway, Times: 1}}},
		{name: "a storm of AlreadyExists", how: "interceptor, half of the commits, beside real ones",
			store: []fault.Rule{{Kind: fault.Refuse, Code: codes.AlreadyExists, Methods: commit,
				Share: 0.5}}},
	}
	for codes := range slices.Chunk(ended, 5) { // each takes the worker some seconds
		all = append(all, lineFaults{name: "a stream breaks, and Receive ends",
			how: fmt.Sprint("interceptor, StreamingPull ends with ", codes), breaks: codes})
	}
	for range *lineMixes {
		all = append(all, lineFaults{name: "all of it at random",
			how:      "interceptor, by a seed, a fifth of all calls",
			store:    fault.Store(0.2, time.Second),
			messages: fault.Messages(0.2, 2*time.Second)})
	}
	return all
}

// TestWire breaks the wires of a worker in every way, each on a line of its own, and wants what
// the guarantee says of each: one marker and one count an order, every message settled, nothing
// among the dead letters, and a clean drain. The goroutines that are left are TestMain's.
func TestWire(t *testing.T) {
	t.Parallel()
	only, err := regexp.Compile(*lineFault)
	if err != nil {
		t.Fatal(err)
	}
	type run struct {
		lineFaults
		*line
		seed uint64
	}
	var runs []run
	for _, f := range lines() {
		seed := *lineSeed
		if seed == 0 {
			seed = rand.Uint64()
		}
		if only.MatchString(f.name) {
			runs = append(runs, run{f, newLine(t, seed), seed})
		}
	}
	all(runs, func(r run) {
		start := time.Now()
		err := r.play(t.Context(), r.lineFaults)
		if err == nil {
			err = r.verify(t.Context())
		}
		if err != nil {
			t.Errorf("%s: %v\nagain: -wire.seed %d -wire.fault '%s'", r.name, err, r.seed, r.name)
			return
		}
		t.Logf("%s: %v, in %v, seed %d", r.name, r.faults(), time.Since(start).Round(time.Second), r.seed)
		r.record(r.lineFaults)
	})
}

// play publishes orders while the line goes wrong, until all are counted and settled.
func (l *line) play(ctx context.Context, f lineFaults) error {
	if err := l.open(); err != nil {
		return err
	}
	l.store.Add(f.store...)
	l.messages.Add(f.messages...)
	if f.away {
		l.messages.Cut(*lineAway)
	}
	l.publish(60)
	for _, code := range f.breaks {
		if err := l.exact(ctx); err != nil {
			return fmt.Errorf("before %v: %w", code, err)
		}
		if err := l.open(); err != nil {
			return fmt.Errorf("before %v: %w", code, err)
		}
		l.publish(10)
		l.messages.Break(code)
	}
	if err := l.exact(ctx); err != nil {
		return err
	}
	if err := l.settled(); err != nil {
		return err
	}
	if l.faults() == 0 {
		return fmt.Errorf("no fault was injected")
	}
	return l.drained()
}

func (l *line) faults() int { return l.store.Total() + l.messages.Total() }

func (l *line) record(f lineFaults) {
	evidence.Record(evidence.Row{
		Fault: f.name, How: f.how, Times: l.faults(),
		Checked: "worker and counter end to end: total = markers = orders, each called counted " +
			"once, every message acknowledged, no dead letter, clean drain",
		Result: fmt.Sprintf("%d of %d orders, each delivered twice; drift 0", l.counted.Load(), l.orders),
	})
}
