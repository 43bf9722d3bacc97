package fault

import (
	"context"
	"maps"
	"math/rand/v2"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A Wire is the way between clients and a server. It may serve several clients.
type Wire struct {
	mu      sync.Mutex
	rand    *rand.Rand // seeds the rules
	rules   []*rule
	counts  map[Kind]int
	upAt    time.Time            // the server is away until then
	cuts    int                  // how often it was taken away
	healed  chan struct{}        // closed by the next Heal
	streams map[*stream]struct{} // that are open
}

// New returns a wire that breaks calls by the rules: of those that strike a call, the first one.
func New(seed uint64, rules ...Rule) *Wire {
	w := &Wire{rand: rand.New(rand.NewPCG(seed, 0)), counts: map[Kind]int{},
		healed: make(chan struct{}), streams: map[*stream]struct{}{}}
	w.Add(rules...)
	return w
}

// Options returns what a client dials with to use the wire.
func (w *Wire) Options() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithUnaryInterceptor(w.unary), grpc.WithStreamInterceptor(w.stream)}
}

// Add adds rules after those that are there.
func (w *Wire) Add(rules ...Rule) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range rules {
		w.rules = append(w.rules,
			&rule{Rule: r, rand: rand.New(rand.NewPCG(w.rand.Uint64(), 0))})
	}
}

// Heal takes all rules away and ends what they do: the server is back, calls that are held go on,
// and those that hang fail with Unavailable.
func (w *Wire) Heal() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rules, w.upAt = nil, time.Time{}
	close(w.healed)
	w.healed = make(chan struct{})
}

// Cut takes the server away for d, as the kind Down does.
func (w *Wire) Cut(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut(d)
}

func (w *Wire) cut(d time.Duration) {
	w.upAt = time.Now().Add(d)
	w.cuts++
	w.fail(down())
}

// Break ends every stream that is open with the code.
func (w *Wire) Break(code codes.Code) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counts[Break] += len(w.streams)
	w.fail(Rule{Kind: Break, Code: code}.err())
}

func (w *Wire) fail(err error) {
	for s := range w.streams {
		s.fail(err)
	}
}

// Counts returns how many faults of each kind were injected until now. Each call that met a
// server which was down counts.
func (w *Wire) Counts() map[Kind]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.counts)
}

// Total is the sum of Counts.
func (w *Wire) Total() (n int) {
	for _, k := range w.Counts() {
		n += k
	}
	return n
}

// A call is one call of the method, or one stream, and the fault that it meets.
type call struct {
	Rule // of the zero kind: none
	wire *Wire
	cuts int // before the call
	heal <-chan struct{}
}

// begin decides what becomes of the next call.
func (w *Wire) begin(method string, stream bool) *call {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := &call{wire: w, heal: w.healed}
	if !w.away() {
		c.Rule = w.strike(method, stream)
		if c.Kind == Down {
			w.cut(c.For)
		} else if c.Kind != "" {
			w.counts[c.Kind]++
		}
	}
	if w.away() {
		w.counts[Down]++
		c.Rule = Rule{Kind: Refuse, Code: codes.Unavailable}
	}
	c.cuts = w.cuts
	return c
}

func (w *Wire) away() bool { return time.Now().Before(w.upAt) }

// strike asks every rule that covers the call, so that each draws its chances in the order of
// its own calls.
func (w *Wire) strike(method string, stream bool) Rule {
	var first *rule
	for _, r := range w.rules {
		if r.covers(method, stream) && r.strikes() && first == nil {
			first = r
		}
	}
	if first == nil {
		return Rule{}
	}
	first.hits++
	return first.Rule
}

// cutOff tells, when the server has answered, whether it was taken away meanwhile.
func (c *call) cutOff() bool {
	c.wire.mu.Lock()
	defer c.wire.mu.Unlock()
	if c.wire.cuts == c.cuts {
		return false
	}
	c.wire.counts[Down]++
	return true
}

// hold waits for For, or where it is 0 for the wire to be healed.
func (c *call) hold(ctx context.Context) error {
	var end <-chan time.Time
	if c.For > 0 {
		t := time.NewTimer(c.For)
		defer t.Stop()
		end = t.C
	}
	select {
	case <-end:
	case <-c.heal:
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	}
	return nil
}

// hang is hold for a call that gets no answer in the end.
func (c *call) hang(ctx context.Context) error {
	if err := c.hold(ctx); err != nil {
		return err
	}
	return Rule{Kind: c.Kind, Code: codes.Unavailable}.err()
}
