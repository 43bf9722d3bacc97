package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/atlasmart/ordertally/internal/telemetry"
)

const (
	barWidth  = 30
	lineEvery = 2 * time.Second        // between lines, where there is no terminal
	drawEvery = 100 * time.Millisecond // between drawings of the bar
)

// A progress shows how far something got: a bar on a terminal, plain lines elsewhere.
type progress struct {
	w        io.Writer
	terminal bool
	what     string
	total    int64
	start    time.Time

	mu   sync.Mutex
	n    int64     // never goes back
	done time.Time // when n became the total: what is waited for after that is not its pace
	last time.Time
}

func newProgress(w io.Writer, what string, total int64, now time.Time) *progress {
	return &progress{w: w, terminal: telemetry.IsTerminal(w), what: what,
		total: total, start: now, last: now}
}

// at shows n, unless something was shown a moment ago.
func (p *progress) at(n int64, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.n = min(max(p.n, n), p.total)
	if p.n == p.total && p.done.IsZero() {
		p.done = now
	}
	every := lineEvery
	if p.terminal {
		every = drawEvery
	}
	if now.Sub(p.last) >= every && p.n < p.total {
		p.last = now
		p.draw(now)
	}
}

// end shows where it ended.
func (p *progress) end(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.draw(now)
	if p.terminal {
		fmt.Fprintln(p.w)
	}
}

func (p *progress) draw(now time.Time) {
	if !p.done.IsZero() {
		now = p.done
	}
	took := now.Sub(p.start).Seconds()
	perSecond := 0.0
	if took > 0 {
		perSecond = float64(p.n) / took
	}
	left := ""
	if p.n < p.total && perSecond > 0 {
		eta := time.Duration(float64(p.total-p.n) / perSecond * float64(time.Second))
		left = fmt.Sprintf(", %v left", eta.Round(time.Second))
	}
	line := fmt.Sprintf("%s %d of %d, %.0f/s%s", p.what, p.n, p.total, perSecond, left)
	if !p.terminal {
		fmt.Fprintln(p.w, line)
		return
	}
	full := int(barWidth * p.n / max(1, p.total))
	fmt.Fprintf(p.w, "\r\x1b[K%s%s %s", strings.Repeat("█", full),
		strings.Repeat("░", barWidth-full), line)
}
