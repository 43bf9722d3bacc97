package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/atlasmart/ordertally/internal/child"
	"github.com/atlasmart/ordertally/internal/emulator"
)

// service is a program that runs until it is stopped.
type service struct {
	name string
	env  []string
}

// running is a service that was started.
type running struct {
	*child.Child
	addr string // Where it serves its probes and metrics.
}

// services are in the order of their start: an unknown counter ends the rollup, and
// the worker creates it.
var services = []service{
	{"worker", []string{
		"WORKER_SUBSCRIPTION=" + ordersSub,
		"WORKER_DEAD_LETTER_TOPIC=" + deadTopic,
	}},
	{"rollup", []string{"ROLLUP_EVERY=1s"}},
}

// withPrograms has the orders counted by the services, which must all exit with 0
// when they are stopped.
func (d *demo) withPrograms(ctx context.Context) (r replayed, err error) {
	var started []*running
	defer func() { err = errors.Join(err, d.stopAll(started)) }()
	for _, s := range services {
		c, err := d.serve(ctx, s)
		if err != nil {
			return replayed{}, err
		}
		started = append(started, c)
	}
	if r, err = d.replay(ctx); err != nil {
		return r, err
	}
	d.say("replay", "%d orders in %d messages, shuffled: total %d, %d markers",
		r.Orders, r.Published, r.Total, r.Markers)
	if d.stays {
		return r, d.stay(ctx, started)
	}
	return r, d.check(ctx, r)
}

// serve starts a service, and returns when it is ready.
func (d *demo) serve(ctx context.Context, s service) (*running, error) {
	addr, err := emulator.FreeAddr()
	if err != nil {
		return nil, err
	}
	env := append(d.env(), s.env...)
	env = append(env, strings.ToUpper(s.name)+"_LISTEN="+addr)
	started, err := child.Start(s.name, d.logs, env, d.path(s.name))
	if err != nil {
		return nil, err
	}
	c := &running{started, addr}
	if err := c.awaitReady(ctx); err != nil {
		_ = c.Stop(child.Grace) // What there is to tell is in err.
		return nil, err
	}
	d.say(s.name, "ready, http://%s/metrics", addr)
	return c, nil
}

// stopAll stops the children, the last one first.
func (d *demo) stopAll(started []*running) error {
	var errs []error
	for _, c := range slices.Backward(started) {
		errs = append(errs, c.Stop(child.Grace))
	}
	err := errors.Join(errs...)
	if err == nil && len(started) > 0 {
		d.say("stopped", "each program exited with 0")
	}
	return err
}

// check waits for the rollup's total, and shows it to people.
func (d *demo) check(ctx context.Context, r replayed) error {
	if err := d.settle(ctx, r.Orders); err != nil {
		return err
	}
	d.say("rollup", "its total and the exact count are %d", r.Orders)
	cmd := d.command(ctx, "rollup", "show")
	cmd.Stdout, cmd.Stderr = d.stdout, d.stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("rollup show: %w", err)
	}
	return nil
}

// stay tells how to use what runs, and returns at a Ctrl-C, or when a child ends.
func (d *demo) stay(ctx context.Context, started []*running) error {
	fmt.Fprintf(d.stdout, upText, d.logs,
		d.pair.Env()[0], d.pair.Env()[1], d.project, d.bin, ordersTopic, d.orders)
	ended := make(chan *running, len(started))
	for _, c := range started {
		go func() {
			<-c.Done()
			ended <- c
		}()
	}
	select {
	case <-ctx.Done():
		return nil
	case c := <-ended:
		return fmt.Errorf("%s ended: %v\n%s", c.Name, c.State(), c.LogTail())
	}
}

const upText = `
Everything runs until Ctrl-C. The logs are in %s.
In another terminal:

    export %s
    export %s
    export GOOGLE_CLOUD_PROJECT=%s
    %[5]s/replay -topic %[6]s -file %[7]s -times 3 -shuffle -verify
    %[5]s/rollup show

`
