package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"time"
)

// replayed is what the demo reads of replay's report.
type replayed struct {
	Published int  `json:"published"`
	Orders    int  `json:"orders"`
	Total     int  `json:"total"`
	Markers   int  `json:"markers"`
	OK        bool `json:"ok"`
}

// shown is what the demo reads of rollup show.
type shown struct {
	Total int `json:"total"`
	Exact int `json:"exact"`
}

// exact returns an error unless each order was published as often as it should, or
// more often if the file repeats it, and counted once.
func (r replayed) exact() error {
	switch {
	case !r.OK:
		return fmt.Errorf("replay found a mismatch: %+v", r)
	case r.Orders == 0:
		return errors.New("there was no order to count")
	case r.Published < r.Orders*times:
		return fmt.Errorf("%d messages for %d orders, want each at least %d times",
			r.Published, r.Orders, times)
	case r.Total != r.Orders || r.Markers != r.Orders:
		return fmt.Errorf("%d orders, but a total of %d and %d markers: "+
			"does the project hold other orders?", r.Orders, r.Total, r.Markers)
	}
	return nil
}

func (r replayed) String() string {
	return fmt.Sprintf("exact: %d orders, %d messages, %d markers, total %d",
		r.Orders, r.Published, r.Markers, r.Total)
}

// replay publishes the orders and returns its own verification of the counts.
func (d *demo) replay(ctx context.Context) (replayed, error) {
	cmd := d.command(ctx, "replay", "-topic", ordersTopic, "-file", d.orders,
		"-times", fmt.Sprint(times), "-shuffle", "-verify", "-counter", counterName, "-json")
	cmd.Stderr = d.stderr
	out, err := cmd.Output()
	if err != nil {
		return replayed{}, fmt.Errorf("replay: %w\n%s", err, out)
	}
	var r replayed
	if err := json.Unmarshal(out, &r); err != nil {
		return replayed{}, fmt.Errorf("reading what replay reports: %w: %s", err, out)
	}
	return r, r.exact()
}

const (
	// settleTimeout is how long the repeating rollup has to show the total.
	settleTimeout = 30 * time.Second
	settleEvery   = 250 * time.Millisecond
)

// settle returns when the rollup's total and the exact count are both want.
func (d *demo) settle(ctx context.Context, want int) error {
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	tick := time.NewTicker(settleEvery)
	defer tick.Stop()
	for {
		got, err := d.show(ctx)
		if err == nil && got == (shown{Total: want, Exact: want}) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for rollup show to say %d: %w: it says %+v (%v)",
				want, context.Cause(ctx), got, err)
		case <-tick.C:
		}
	}
}

func (d *demo) show(ctx context.Context) (shown, error) {
	out, err := d.command(ctx, "rollup", "show", "-json").Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return shown{}, fmt.Errorf("rollup show: %w: %s", err, exit.Stderr)
	}
	if err != nil {
		return shown{}, fmt.Errorf("rollup show: %w", err)
	}
	var s shown
	return s, json.Unmarshal(out, &s)
}
