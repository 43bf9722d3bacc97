package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"sync/atomic"
	"time"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/pubsub/v2"
	"go.uber.org/zap"
	"google.golang.org/api/option"

	"github.com/atlasmart/ordertally/internal/consume"
	"github.com/atlasmart/ordertally/internal/counter"
	"github.com/atlasmart/ordertally/internal/settings"
	"github.com/atlasmart/ordertally/internal/statusz"
	"github.com/atlasmart/ordertally/internal/telemetry"
)

// startTimeout bounds what has to be known before the first message.
const startTimeout = 30 * time.Second

// memoryLimit keeps the worker below 150 MiB: what is resident is this and some 20 MiB of the program.
// Measured over 400,000 orders at full load: 130 MiB at most, where a garbage collector that is only
// told to come sooner (GOGC=60) let 156 pass, and costs CPU all the time. It is a soft limit: 64 MiB
// of large messages in flight make the collector work harder, and stop nothing. GOMEMLIMIT overrides
// it.
const memoryLimit = 112 << 20

// deps is what a test replaces.
type deps struct {
	logs              io.Writer
	pubsub, firestore []option.ClientOption
	follow            time.Duration // how often to look for a new number of shards; 0: as usual
}

// run runs the worker by the process's settings until ctx ends, and drains.
func run(ctx context.Context, args []string, d deps) error {
	if len(args) > 0 {
		return settings.Problems{fmt.Sprintf("worker takes no arguments, and got %q: "+
			"its settings are the variables WORKER_…, which the README lists", args)}
	}
	cfg, err := load()
	if err != nil {
		return err
	}
	w := &worker{cfg: cfg, started: time.Now(), recent: &telemetry.Recent{},
		follow: cmp.Or(d.follow, counter.FollowEvery)}
	log := telemetry.NewLogger(d.logs, cfg.level, telemetry.InProject(cfg.cloud.Project),
		w.recent.Option())
	w.log, w.health = log, w.checks()
	defer zap.RedirectStdLog(log)()
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
	err = w.run(ctx, d)
	if ctx.Err() != nil && w.consumer.Load() == nil {
		log.Info("stopped before it had started", zap.NamedError("problem", err))
		return nil // what the stop broke is no failure
	}
	return err
}

// A worker is the program's parts and what its probes ask for.
type worker struct {
	cfg      *config
	started  time.Time
	log      *zap.Logger
	follow   time.Duration
	recent   *telemetry.Recent // of log
	health   *telemetry.Health
	signals  *telemetry.Signals
	counter  atomic.Pointer[counter.Counter] // nil: not known yet
	consumer atomic.Pointer[consume.Consumer]
}

func (w *worker) run(ctx context.Context, d deps) (err error) {
	w.signals, err = w.cfg.export.Open(ctx, "worker", w.log)
	if err != nil {
		return err
	}
	defer func() { w.signals.Close(w.log) }()
	server, err := telemetry.Serve(ctx, w.cfg.Listen, "WORKER_LISTEN",
		telemetry.Handler(w.health, w.signals.Metrics, statusz.Handler(w.status)))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	messages, err := pubsub.NewClientWithConfig(ctx, w.cfg.cloud.Project,
		&pubsub.ClientConfig{EnableOpenTelemetryTracing: w.cfg.export.Tracing()}, d.pubsub...)
	if err != nil {
		return fmt.Errorf("connecting to Pub/Sub: %w", err)
	}
	defer func() { err = errors.Join(err, messages.Close()) }()
	documents, err := firestore.NewClientWithDatabase(ctx, w.cfg.cloud.Project,
		w.cfg.cloud.Database, append(d.firestore, counter.MaskedReads())...)
	if err != nil {
		return fmt.Errorf("connecting to Firestore: %w", err)
	}
	defer func() { err = errors.Join(err, documents.Close()) }()
	return w.consume(ctx, messages, documents)
}

// consume opens the counter and counts messages into it until ctx ends and they are drained.
func (w *worker) consume(
	ctx context.Context, messages *pubsub.Client, documents *firestore.Client,
) error {
	w.log.Info("looking for the subscription and the counter",
		zap.String("subscription", w.cfg.subscription), zap.String("counter", w.cfg.Counter),
		zap.String("project", w.cfg.cloud.Project), zap.String("database", w.cfg.cloud.Database))
	edge := w.edge()
	if err := consume.Check(ctx, messages, edge, w.cfg.MarkerTTL); err != nil {
		return err
	}
	orders, err := w.open(ctx, documents)
	if err != nil {
		return err
	}
	defer orders.Close()
	w.counter.Store(orders)
	consumer, err := consume.New(messages, orders, edge)
	if err != nil {
		return err
	}
	w.consumer.Store(consumer)
	def := orders.Definition()
	w.log.Info("counting", zap.String("counter", w.cfg.Counter),
		zap.Int("shards", def.Shards), zap.Stringer("timeZone", def.Location),
		zap.String("subscription", w.cfg.subscription))
	err = consumer.Run(ctx)
	w.log.Info("drained", zap.NamedError("problem", err))
	return err
}

// edge is what the consumer is to do.
func (w *worker) edge() consume.Config {
	return consume.Config{
		Subscription:    w.cfg.subscription,
		DeadLetterTopic: w.cfg.deadLetters,
		Kinds:           w.cfg.Kinds,
		MaxOutstanding:  w.cfg.MaxOutstanding,
		Streams:         w.cfg.Streams,
		Grace:           w.cfg.ShutdownGrace,
		Log:             w.log,
		Meter:           w.signals.Meter(),
	}
}

// open starts the counter by its document, which it creates where it is missing.
func (w *worker) open(
	ctx context.Context, documents *firestore.Client,
) (*counter.Counter, error) {
	def, err := w.define(ctx, documents)
	if err != nil {
		return nil, err
	}
	if err := w.checkShards(ctx, documents, def); err != nil {
		return nil, err
	}
	ramp, err := w.ramp(ctx, documents)
	if err != nil {
		return nil, err
	}
	return counter.New(documents, w.cfg.Counter, def, counter.Options{
		GroupMax:  w.cfg.GroupMax,
		Linger:    w.cfg.GroupLinger,
		MarkerTTL: w.cfg.MarkerTTL,
		Follow:    w.follow,
		Ramp:      ramp,
		Log:       w.log,
		Meter:     w.signals.Meter(),
		Tracer:    w.signals.Tracer(),
	})
}

// define creates the counter, or finds it. What the settings say otherwise is said once, and
// loses: another worker may be counting by the document already.
func (w *worker) define(
	ctx context.Context, documents *firestore.Client,
) (counter.Definition, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	want := counter.Definition{Shards: w.cfg.Shards, Location: w.cfg.location}
	def, created, err := counter.Define(ctx, documents, w.cfg.Counter, want)
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = fmt.Errorf("waiting %v for Firestore: %w", startTimeout, err)
	}
	if err != nil {
		return def, err
	}
	if created {
		w.log.Info("created the counter", zap.String("counter", w.cfg.Counter))
	}
	if def.Shards != want.Shards || def.Location.String() != want.Location.String() {
		w.log.Warn("the counter's document differs from the settings, and wins",
			zap.Int("shards", def.Shards), zap.Int("WORKER_SHARDS", want.Shards),
			zap.Stringer("timeZone", def.Location), zap.Stringer("WORKER_TIMEZONE", want.Location))
	}
	return def, nil
}

// checkShards refuses to start on a shard that the first commit would overwrite or overflow: what
// it held would be gone before anybody saw it.
func (w *worker) checkShards(
	ctx context.Context, documents *firestore.Client, def counter.Definition,
) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	return counter.CheckShards(ctx, documents, w.cfg.Counter, def)
}

// ramp returns the ramp of a collection that Firestore has to get used to, or nil.
func (w *worker) ramp(ctx context.Context, documents *firestore.Client) (*counter.Ramp, error) {
	if w.cfg.Ramp == "off" || w.cfg.Ramp == "auto" && documents.UsesEmulator {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	ramp, err := counter.FindRamp(ctx, documents, w.cfg.Counter)
	if err != nil {
		return nil, err
	}
	if ramp == nil && w.cfg.Ramp == "on" {
		ramp = counter.NewRamp(time.Time{})
	}
	if ramp != nil {
		w.log.Info("ramping up: 500 orders a second, and half as much again every five minutes")
	}
	return ramp, nil
}

// checks tell the probes what the parts know.
func (w *worker) checks() *telemetry.Health {
	h := &telemetry.Health{}
	h.Live("counter", func() error {
		if c := w.counter.Load(); c != nil {
			return c.Live(time.Now())
		}
		return nil
	})
	h.Live("subscription", func() error {
		if c := w.consumer.Load(); c != nil {
			return c.Live(time.Now())
		}
		return nil
	})
	h.Ready("counter", func() error {
		if c := w.counter.Load(); c != nil {
			return c.Ready()
		}
		return errors.New("not known yet")
	})
	h.Ready("subscription", func() error {
		if c := w.consumer.Load(); c != nil {
			return c.Ready(time.Now())
		}
		return errors.New("not received from yet")
	})
	return h
}
