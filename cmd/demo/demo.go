package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/atlasmart/ordertally/internal/child"
	"github.com/atlasmart/ordertally/internal/emulator"
)

const (
	counterName = "orders-today"
	// times is how often each order is published.
	times = 2
)

// demo is one run of the demonstration.
type demo struct {
	bin, orders string
	stays       bool
	stdout      io.Writer
	stderr      io.Writer

	logs    string // Directory of the children's logs.
	pair    *emulator.Pair
	project string
}

// say prints one step.
func (d *demo) say(step, format string, args ...any) {
	fmt.Fprintf(d.stdout, "%-10s %s\n", step, fmt.Sprintf(format, args...))
}

// run makes the directory of the logs, and removes it unless they tell why the demo
// failed.
func (d *demo) run(ctx context.Context) (err error) {
	if err := d.checkFiles(); err != nil {
		return err
	}
	d.logs, err = os.MkdirTemp("", "ordertally-demo-")
	if err != nil {
		return err
	}
	err = d.withEmulators(ctx)
	switch {
	case err == nil:
		return os.RemoveAll(d.logs)
	case ctx.Err() != nil:
		return errors.Join(fmt.Errorf("interrupted: %w", err), os.RemoveAll(d.logs))
	}
	return fmt.Errorf("%w\nall logs are in %s", err, d.logs)
}

func (d *demo) checkFiles() error {
	for _, name := range []string{"worker", "rollup", "replay"} {
		if _, err := os.Stat(d.path(name)); err != nil {
			return fmt.Errorf("looking for the programs (make build makes them): %w", err)
		}
	}
	if _, err := os.Stat(d.orders); err != nil {
		return fmt.Errorf("looking for the orders: %w", err)
	}
	return nil
}

// path keeps the separator that filepath.Join takes off "./worker", and without
// which it would be looked for on the PATH.
func (d *demo) path(program string) string {
	return d.bin + string(filepath.Separator) + program
}

func (d *demo) withEmulators(ctx context.Context) (err error) {
	d.pair, err = emulator.Start(ctx, d.logs)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.pair.Stop()) }()
	d.say("Firestore", "emulator %s, %s", d.pair.Firestore.Addr, origin(d.pair.Firestore))
	d.say("Pub/Sub", "emulator %s, %s", d.pair.PubSub.Addr, origin(d.pair.PubSub))
	d.project = projectID()
	d.say("project", "%s", d.project)
	if err := createTopics(ctx, d.pair.PubSub.Addr, d.project); err != nil {
		return err
	}
	d.say("topics", "%s read by %s, %s read by %s", ordersTopic, ordersSub, deadTopic, deadSub)
	result, err := d.withPrograms(ctx)
	if err == nil && !d.stays {
		fmt.Fprintln(d.stdout, result)
	}
	return err
}

func origin(e *emulator.Emulator) string {
	if e.Started() {
		return "started here"
	}
	return "named by the environment"
}

// projectID is a new one for each run that is not told its own: the emulators may
// hold the orders of earlier runs.
func projectID() string {
	if id := os.Getenv("GOOGLE_CLOUD_PROJECT"); id != "" {
		return id
	}
	b := make([]byte, 4)
	rand.Read(b) // It never returns an error.
	return "ordertally-demo-" + hex.EncodeToString(b)
}

// env leads the programs to the project. Other settings, such as WORKER_SHARDS, are
// the caller's to give.
func (d *demo) env() []string {
	return append(d.pair.Env(),
		"GOOGLE_CLOUD_PROJECT="+d.project,
		"WORKER_COUNTER="+counterName,
		"ROLLUP_COUNTER="+counterName,
	)
}

// command returns one of the programs, set up to run once.
func (d *demo) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := child.OneShot(ctx, d.path(program), args...)
	cmd.Env = append(os.Environ(), d.env()...)
	return cmd
}
