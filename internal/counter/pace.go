package counter

import (
	"context"
	"time"
)

// A pace slows a lane down while Firestore reports contention on its documents (Aborted,
// ResourceExhausted): the rate of commits is halved by each such answer, and grows by one a second
// with each success until the lane is free again. Slower commits make larger groups, so the
// orders lose some latency and little throughput.
type pace struct {
	rate float64   // commits a second; 0: as fast as they come
	next time.Time // when the next commit may start
}

const (
	paceFirst = 32  // commits a second after the first contention
	paceLeast = 0.5 // half of the one write a second that a document takes for long
	paceStep  = 1
	paceFree  = 64 // beyond this there is no limit
)

func (p *pace) contended() {
	if p.rate == 0 {
		p.rate = paceFirst
		return
	}
	p.rate = max(paceLeast, p.rate/2)
}

func (p *pace) succeeded() {
	if p.rate == 0 {
		return
	}
	if p.rate += paceStep; p.rate > paceFree {
		p.rate = 0
	}
}

// wait waits until the next commit may start.
func (p *pace) wait(ctx context.Context) error {
	if p.rate == 0 {
		return nil
	}
	err := sleep(ctx, time.Until(p.next))
	p.next = time.Now().Add(time.Duration(float64(time.Second) / p.rate))
	return err
}
