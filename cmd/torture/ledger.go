package main

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// A ledger knows of every message what became of it, by what the relays saw pass.
type ledger struct {
	mu       sync.Mutex
	messages map[string]*message // by message id
	held     map[string]*message // by the ack id of a delivery
	orders   map[string]*order
	begun    map[int]bool      // the lives that got a message
	dead     map[int]time.Time // when a life ended
	unacked  int               // of messages

	tally
	returns []time.Duration // from a holder's death to the next delivery
}

// A tally counts what passed.
type tally struct {
	published  int
	delivered  int // messages that were delivered at least once
	deliveries int
	rewound    int // deliveries that a rewind asked for
	acks, late int // late: acknowledged again, after a copy came back
	nacks      int
	strangers  int // acknowledgements of what was never delivered: a fault of the ledger
}

type message struct {
	order      *order
	published  bool
	deliveries int
	acked      bool
	asked      bool // its acknowledgement was passed on, and not answered yet
	holder     int  // the life that has it in hand; 0: none
}

// An order is lost when it has no marker and was acknowledged.
type order struct {
	id       string
	marked   bool // seen with its marker
	messages []*message
}

func newLedger() *ledger {
	return &ledger{messages: map[string]*message{}, held: map[string]*message{},
		orders: map[string]*order{}, begun: map[int]bool{}, dead: map[int]time.Time{}}
}

// message returns the message of that id, which publisher and worker may name in either order.
func (l *ledger) message(id, orderID string) *message {
	m := l.messages[id]
	if m == nil {
		o := l.orders[orderID]
		if o == nil {
			o = &order{id: orderID}
			l.orders[orderID] = o
		}
		m = &message{order: o}
		o.messages = append(o.messages, m)
		l.messages[id] = m
		l.unacked++
	}
	return m
}

func (l *ledger) publish(id, orderID string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.message(id, orderID).published = true
	l.published++
}

func (l *ledger) deliver(life int, ackID, id, orderID string, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := l.message(id, orderID)
	if died, ok := l.dead[m.holder]; ok {
		l.returns = append(l.returns, now.Sub(died))
	}
	if m.deliveries == 0 {
		l.delivered++
	}
	m.deliveries++
	l.deliveries++
	m.holder = life
	m.asked = false
	l.begun[life] = true
	l.held[ackID] = m
}

// settle notes that Pub/Sub took acknowledgements, or nacks.
func (l *ledger) settle(ackIDs []string, acked bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range ackIDs {
		m := l.held[id]
		if m == nil {
			continue // settled before
		}
		m.holder = 0
		delete(l.held, id)
		switch {
		case !acked:
			l.nacks++
		case m.acked:
			l.late++
		default:
			l.acks++
			m.acked = true
			l.unacked--
		}
	}
}

// ask notes that the acknowledgements were passed on to Pub/Sub. Where the answer is lost, the
// message is acknowledged or will come again, and nobody knows which.
func (l *ledger) ask(ackIDs []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range ackIDs {
		if m := l.held[id]; m != nil {
			m.asked = true
		}
	}
}

// unproven returns those orders of the deliveries whose marker was not seen yet.
func (l *ledger) unproven(ackIDs []string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var ids []string
	for _, id := range ackIDs {
		if m := l.held[id]; m == nil {
			l.strangers++
		} else if !m.order.marked {
			ids = append(ids, m.order.id)
		}
	}
	return ids
}

// prove notes that the order has its marker.
func (l *ledger) prove(orderID string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.orders[orderID].marked = true
}

// works tells whether a life has got a message.
func (l *ledger) works(life int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.begun[life]
}

// bury notes that a life has ended, and returns how many messages it had in hand.
func (l *ledger) bury(life int, now time.Time) (inHand int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dead[life] = now
	for _, m := range l.messages {
		if m.holder == life {
			inHand++
		}
	}
	return inHand
}

// rewind forgets the acknowledgements: everything is to come again.
func (l *ledger) rewind() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unacked = 0
	for _, m := range l.messages {
		if m.deliveries > 0 {
			l.rewound++
		}
		m.acked, m.asked = false, false
		l.unacked++
	}
}

// open returns how many messages are not known to be acknowledged.
func (l *ledger) open() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.unacked
}

// inDoubt returns how many of the open messages may be acknowledged.
func (l *ledger) inDoubt() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, m := range l.messages {
		if m.asked && !m.acked {
			n++
		}
	}
	return n
}

// known returns the orders that were published or delivered.
func (l *ledger) known() []*order {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Values(l.orders))
}

func (l *ledger) counts() tally {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tally
}

// redelivered is how often a message was delivered again, and no rewind had asked for it.
func (t tally) redelivered() int { return t.deliveries - t.delivered - t.rewound }

// comeback returns the number of messages that came back from the dead, and how long the first,
// the middle and the last of them took.
func (l *ledger) comeback() (n int, first, middle, last time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.returns) == 0 {
		return 0, 0, 0, 0
	}
	slices.Sort(l.returns)
	n = len(l.returns)
	return n, l.returns[0], l.returns[n/2], l.returns[n-1]
}
