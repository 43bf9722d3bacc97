package fault

import (
	"slices"
	"time"

	"google.golang.org/grpc/codes"
)

// Transient are the codes of which no caller may conclude that a call was done or was not.
var Transient = []codes.Code{codes.Unavailable, codes.Aborted, codes.DeadlineExceeded,
	codes.ResourceExhausted, codes.Internal, codes.Unknown, codes.Canceled}

// World are the codes of a world that is not as it should be, and may become so again.
var World = []codes.Code{codes.PermissionDenied, codes.Unauthenticated, codes.NotFound}

// Store returns rules that break about the share of all calls to Firestore, in every way that
// a worker has to live with. No fault lasts longer than the given time.
func Store(share float64, longest time.Duration) []Rule {
	var rules []Rule
	for _, code := range Transient {
		rules = append(rules, Rule{Kind: Refuse, Code: code}, Rule{Kind: Lose, Code: code})
	}
	for _, code := range World {
		rules = append(rules, Rule{Kind: Refuse, Code: code, Methods: []string{"Commit"}})
	}
	rules = append(rules, Rule{Kind: Slow, For: longest / 4}, Rule{Kind: Hang, For: longest},
		Rule{Kind: Mute, For: longest}, Rule{Kind: Down, For: longest},
		Rule{Kind: Refuse, Code: codes.AlreadyExists, Methods: []string{"Commit"}})
	return spread(rules, share)
}

// Messages returns rules that break about the share of all acknowledgements, lease extensions
// and streaming pulls. A stream that breaks has been open for a time up to the given one.
func Messages(share float64, longest time.Duration) []Rule {
	acks := []string{"Acknowledge", "ModifyAckDeadline"}
	var rules []Rule
	for _, code := range slices.Concat(Transient, World) {
		rules = append(rules, Rule{Kind: Refuse, Code: code, Methods: acks},
			Rule{Kind: Lose, Code: code, Methods: acks})
	}
	rules = append(rules, Rule{Kind: Slow, For: longest / 4, Methods: acks})
	rules = spread(rules, share)
	var pulls []Rule
	for i, code := range slices.Concat(Transient, World) {
		open := longest * time.Duration(i+1) / time.Duration(len(Transient)+len(World))
		pulls = append(pulls,
			Rule{Kind: Break, Code: code, For: open, Methods: []string{"StreamingPull"}})
	}
	return append(rules, spread(pulls, share)...)
}

func spread(rules []Rule, share float64) []Rule {
	for i := range rules {
		rules[i].Share = share / float64(len(rules))
	}
	return rules
}
