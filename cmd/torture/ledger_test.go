package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestLedger follows orders through every fate that one without a marker can have.
func TestLedger(t *testing.T) {
	l, now := newLedger(), time.Now()
	const living, dying = 1, 2
	for _, id := range []string{"undelivered", "held", "dead", "returned", "lost", "both"} {
		l.publish("m-"+id, id)
	}
	l.publish("m-both-2", "both")
	l.deliver(living, "a-held", "m-held", "held", now)
	l.deliver(dying, "a-dead", "m-dead", "dead", now)
	l.deliver(dying, "a-returned", "m-returned", "returned", now)
	l.deliver(dying, "a-lost", "m-lost", "lost", now)
	l.deliver(dying, "a-both", "m-both", "both", now)
	l.deliver(living, "a-both-2", "m-both-2", "both", now)
	l.settle([]string{"a-returned"}, false)
	l.settle([]string{"a-lost"}, true)
	if n := l.bury(dying, now); n != 2 {
		t.Errorf("the dead had %d messages in hand, want 2", n)
	}
	got := account{}
	for _, f := range l.fates() {
		*got.place(f)++
	}
	want := account{undelivered: 1, held: 2, dead: 1, returned: 1, lost: 1}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(account{})); diff != "" {
		t.Errorf("places (-want +got):\n%s", diff)
	}
	l.deliver(living, "a-dead-2", "m-dead", "dead", now.Add(time.Minute))
	l.settle([]string{"a-dead-2", "a-dead-2"}, true)
	if n, first, _, last := l.comeback(); n != 1 || first != time.Minute || last != time.Minute {
		t.Errorf("%d came back after %v to %v, want 1 after a minute", n, first, last)
	}
	if n := l.open(); n != 5 {
		t.Errorf("%d messages are open, want 5 of 7", n)
	}
	l.rewind()
	if n := l.open(); n != 7 {
		t.Errorf("%d messages are open after a rewind, want all 7", n)
	}
	wantCounts := tally{published: 7, delivered: 6, deliveries: 7, rewound: 6, acks: 2, nacks: 1}
	if diff := cmp.Diff(wantCounts, l.counts(), cmp.AllowUnexported(tally{})); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
}

// TestLedger_inDoubt loses the answers to acknowledgements.
func TestLedger_inDoubt(t *testing.T) {
	l := newLedger()
	for _, id := range []string{"1", "2", "3", "4"} {
		l.deliver(1, "a-"+id, "m-"+id, id, time.Now())
	}
	l.ask([]string{"a-1", "a-2", "a-3", "a-unknown"})
	l.settle([]string{"a-1"}, true)
	l.deliver(1, "a-2-again", "m-2", "2", time.Now())
	if open, doubtful := l.open(), l.inDoubt(); open != 3 || doubtful != 1 {
		t.Errorf("%d open and %d of them in doubt, want 2, 3 and 4, and 3", open, doubtful)
	}
	l.rewind()
	if n := l.inDoubt(); n != 0 {
		t.Errorf("%d in doubt after a rewind, want none", n)
	}
}

func TestLedger_unproven(t *testing.T) {
	l := newLedger()
	l.deliver(1, "a-1", "m-1", "one", time.Now())
	l.deliver(1, "a-2", "m-2", "two", time.Now())
	l.prove("one")
	if diff := cmp.Diff([]string{"two"}, l.unproven([]string{"a-1", "a-2", "a-3"})); diff != "" {
		t.Errorf("unproven (-want +got):\n%s", diff)
	}
	if l.counts().strangers != 1 {
		t.Error("an acknowledgement of what was never delivered went unnoticed")
	}
}
