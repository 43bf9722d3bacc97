package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/pubsub/v2"

	"github.com/atlasmart/ordertally/internal/emulator"
	"github.com/atlasmart/ordertally/internal/relay"
)

const (
	counterName = "orders-today"
	ordersTopic = "orders"
	ordersSub   = "orders-worker"

	// times is how often each order is published.
	times = 2
)

// A house is what the workers live in.
type house struct {
	*config
	stdout io.Writer
	rand   *rand.Rand // of the one goroutine that decides what breaks next
	logs   string     // directory of the children's logs
	pair   *emulator.Pair

	project   string
	documents *firestore.Client // past every relay
	messages  *pubsub.Client
	ledger    *ledger
	intake    *relay.Relay // what replay publishes through
	store     *relay.Relay // the way to Firestore; nil: it is not broken
}

// say prints one step.
func (h *house) say(step, format string, args ...any) {
	fmt.Fprintf(h.stdout, "%s  %-8s %s\n", time.Now().Format(time.TimeOnly), step,
		fmt.Sprintf(format, args...))
}

// withHouse makes a house for do, and leaves nothing of it but the logs of a failure.
func withHouse(
	ctx context.Context, c *config, stdout io.Writer, do func(context.Context, *house) error,
) (err error) {
	h := &house{config: c, stdout: stdout, rand: rand.New(rand.NewPCG(c.seed, 0))}
	for _, name := range []string{"worker", "rollup", "replay"} {
		if _, err := os.Stat(h.path(name)); err != nil {
			return fmt.Errorf("looking for the programs (make build makes them): %w", err)
		}
	}
	if h.logs, err = os.MkdirTemp("", "ordertally-torture-"); err != nil {
		return err
	}
	if err := h.live(ctx, do); err != nil {
		return fmt.Errorf("%w\nall logs are in %s", err, h.logs)
	}
	return os.RemoveAll(h.logs)
}

// path keeps the separator that filepath.Join takes off "./worker", and without which it would be
// looked for on the PATH.
func (h *house) path(program string) string { return h.bin + string(filepath.Separator) + program }

func (h *house) live(ctx context.Context, do func(context.Context, *house) error) (err error) {
	if h.pair, err = emulator.Start(ctx, h.logs); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.pair.Stop()) }()
	h.say("start", "seed %d, Firestore emulator %s, Pub/Sub emulator %s",
		h.seed, h.pair.Firestore.Addr, h.pair.PubSub.Addr)
	closeAll, err := h.connect(ctx)
	defer func() { err = errors.Join(err, closeAll()) }()
	if err != nil {
		return err
	}
	if err := h.createTopics(ctx); err != nil {
		return err
	}
	h.ledger = newLedger()
	if h.intake, err = relay.Start(h.pair.PubSub.Addr, h.ledger.intake()); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.intake.Stop()) }()
	return do(ctx, h)
}

// connect makes the house's own clients, which nothing stands in the way of. The clients know an
// emulator by their variables only.
func (h *house) connect(ctx context.Context) (closeAll func() error, err error) {
	var closers []io.Closer
	closeAll = func() error {
		var errs []error
		for _, c := range closers {
			errs = append(errs, c.Close())
		}
		return errors.Join(errs...)
	}
	h.project = fmt.Sprintf("torture-%d-%x", os.Getpid(), uint32(h.seed))
	if err := os.Setenv("FIRESTORE_EMULATOR_HOST", h.pair.Firestore.Addr); err != nil {
		return closeAll, err
	}
	if err := os.Setenv("PUBSUB_EMULATOR_HOST", h.pair.PubSub.Addr); err != nil {
		return closeAll, err
	}
	ctx = context.WithoutCancel(ctx) // the last look comes after an interrupt
	if h.documents, err = firestore.NewClient(ctx, h.project); err != nil {
		return closeAll, fmt.Errorf("connecting to Firestore: %w", err)
	}
	closers = append(closers, h.documents)
	if h.messages, err = pubsub.NewClient(ctx, h.project); err != nil {
		return closeAll, fmt.Errorf("connecting to Pub/Sub: %w", err)
	}
	closers = append(closers, h.messages)
	return closeAll, nil
}
