// Package fault breaks calls between a gRPC client and its server, on demand or by chance.
//
//	wire := fault.New(seed,
//		fault.Rule{Kind: fault.Lose, Code: codes.Unavailable, Methods: []string{"Commit"}, Share: 0.3},
//		fault.Rule{Kind: fault.Break, Code: codes.Internal, Methods: []string{"StreamingPull"}, Times: 2})
//	client := env.Firestore(wire.Options()...)
//
// What a rule does to the n-th call that it covers is decided by the seed alone, so that a seed
// tells a run's faults again as far as its calls come again.
package fault

import (
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A Kind is a way in which a call goes wrong.
type Kind string

const (
	// Refuse fails the call before it reaches the server.
	Refuse Kind = "refused"
	// Lose fails the call after the server answered it, whatever the answer was.
	Lose Kind = "lost"
	// Hang keeps the call from the server and does not answer until its context ends, or for For.
	Hang Kind = "hung"
	// Mute lets the server do the call and then does not answer, as Hang.
	Mute Kind = "mute"
	// Slow lets the call go on after For; with a For of 0, when the wire is healed.
	Slow Kind = "slow"
	// Break ends a stream that is open with the code, For after it was opened.
	Break Kind = "broken"
	// Down takes the server away for For: each call fails with Unavailable, those in flight lose
	// their answers, and the streams that are open break.
	Down Kind = "down"
)

// A Rule injects one kind of fault into some calls.
type Rule struct {
	Kind    Kind
	Code    codes.Code    // that the caller sees; of Refuse, Lose and Break
	For     time.Duration // as the kind says
	Methods []string      // the last part of their names, such as Commit; none: every method
	Share   float64       // of the calls, by chance; 0: every one
	Times   int           // at most; 0: without a limit
}

// A rule is a Rule at work.
type rule struct {
	Rule
	rand *rand.Rand
	hits int
}

// covers tells whether the rule is about the call.
func (r *rule) covers(method string, stream bool) bool {
	name := method[strings.LastIndexByte(method, '/')+1:]
	return (len(r.Methods) == 0 || slices.Contains(r.Methods, name)) && (stream || r.Kind != Break)
}

// strikes tells whether the rule breaks the next call that it covers.
func (r *rule) strikes() bool {
	chosen := r.Share == 0 || r.rand.Float64() < r.Share
	return chosen && (r.Times == 0 || r.hits < r.Times)
}

func (r Rule) err() error { return status.Error(r.Code, "the wire broke: "+string(r.Kind)) }

// down is what a caller sees while the server is away.
func down() error { return Rule{Kind: Down, Code: codes.Unavailable}.err() }
