package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"cloud.google.com/go/firestore"
	"go.uber.org/zap"
	"google.golang.org/api/option"

	"github.com/atlasmart/ordertally/internal/rollup"
	"github.com/atlasmart/ordertally/internal/settings"
	"github.com/atlasmart/ordertally/internal/telemetry"
)

// commandTimeout bounds every command that is not the repeating rollup: well below a minute, which
// is how long monitors and people wait.
const commandTimeout = 20 * time.Second

// deps is what a test replaces.
type deps struct {
	stdout, stderr io.Writer
	firestore      []option.ClientOption
}

// A program is one invocation: its settings and where it reads and writes.
type program struct {
	deps
	cfg    *config
	client *firestore.Client
}

// A command does its work after its own arguments were read.
type command func(ctx context.Context, p *program) error

// run carries out one invocation.
func run(ctx context.Context, args []string, d deps) (err error) {
	cmd, err := parse(args, d.stderr)
	if err != nil {
		return err
	}
	cfg, err := load()
	if err != nil {
		return err
	}
	client, err := firestore.NewClientWithDatabase(ctx, cfg.cloud.Project, cfg.cloud.Database,
		d.firestore...)
	if err != nil {
		return fmt.Errorf("connecting to Firestore: %w", err)
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	return cmd(ctx, &program{deps: d, cfg: cfg, client: client})
}

// parse turns the arguments into a command.
func parse(args []string, stderr io.Writer) (command, error) {
	name := ""
	if len(args) > 0 && len(args[0]) > 0 && args[0][0] != '-' {
		name, args = args[0], args[1:]
	}
	title := strings.TrimSpace("rollup " + name)
	set := flag.NewFlagSet(title, flag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.Usage = func() {} // only -h shows it all
	var cmd command
	maxAge := time.Duration(1) // more than 0 where there is no such flag
	switch name {
	case "":
		cmd = rollUp
	case "show":
		asJSON := set.Bool("json", false, "")
		worker := set.String("worker", "", "")
		cmd = bounded(func(ctx context.Context, p *program) error {
			return show(ctx, p, *asJSON, *worker)
		})
	case "check":
		set.DurationVar(&maxAge, "max-age", 0, "")
		cmd = bounded(func(ctx context.Context, p *program) error { return check(ctx, p, maxAge) })
	case "audit":
		asJSON := set.Bool("json", false, "")
		cmd = bounded(func(ctx context.Context, p *program) error { return audit(ctx, p, *asJSON) })
	default:
		return nil, misused(fmt.Sprintf("rollup has no command %q", name))
	}
	err := set.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		usage(stderr)
		return nil, err
	case err != nil:
		return nil, misused(fmt.Sprintf("%s: %v", title, err))
	case set.NArg() > 0:
		return nil, misused(fmt.Sprintf("%s: unexpected argument %q", title, set.Arg(0)))
	case maxAge <= 0:
		return nil, misused(title + ": want a -max-age of more than 0, such as -max-age 5m")
	}
	return cmd, nil
}

// misused is a problem with the command line.
func misused(problem string) error {
	return settings.Problems{problem, "rollup -h shows how it is used"}
}

func usage(w io.Writer) {
	fmt.Fprint(w, `rollup                     roll up once, or repeat at ROLLUP_EVERY until SIGTERM
rollup show [-json]        total, today, age, lag, the exact total now, and the shards;
                           with -worker http://HOST:8080/metrics its commits and contention too
rollup check -max-age 5m   exit 1 when the total is older than that
rollup audit [-json]       compare markers with shards; exit 1 on drift

Settings: GOOGLE_CLOUD_PROJECT, FIRESTORE_DATABASE, ROLLUP_COUNTER, ROLLUP_EVERY, ROLLUP_LISTEN,
ROLLUP_LOG_LEVEL. Exit codes: 0 done; 1 failed, stale or drifted; 2 bad settings or arguments.
`)
}

func bounded(cmd command) command {
	return func(ctx context.Context, p *program) error {
		ctx, cancel := context.WithTimeout(ctx, commandTimeout)
		defer cancel()
		err := cmd(ctx, p)
		if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return fmt.Errorf("waiting %v for Firestore: %w", commandTimeout, err)
		}
		return err
	}
}

// rollUp rolls up once, or repeats.
func rollUp(ctx context.Context, p *program) error {
	log := telemetry.NewLogger(p.stderr, p.cfg.level)
	metrics, err := telemetry.NewMetrics()
	if err != nil {
		return err
	}
	job, err := rollup.New(p.client, p.cfg.Counter, log, metrics.Meter())
	if err != nil {
		return err
	}
	if p.cfg.Every == 0 {
		return bounded(func(ctx context.Context, _ *program) error { return once(ctx, job, log) })(ctx, p)
	}
	return repeat(ctx, p, job, metrics)
}

func once(ctx context.Context, job *rollup.Job, log *zap.Logger) error {
	res, err := job.RunOnce(ctx, time.Now())
	if err != nil {
		return err
	}
	log.Info("rolled up", res.Fields()...)
	return nil
}

func repeat(
	ctx context.Context, p *program, job *rollup.Job, metrics *telemetry.Metrics,
) (err error) {
	health := &telemetry.Health{}
	health.Ready("rollup", job.Ready)
	server, err := telemetry.Serve(ctx, p.cfg.Listen, "ROLLUP_LISTEN",
		telemetry.Handler(health, metrics))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	job.Run(ctx, p.cfg.Every)
	return nil
}
