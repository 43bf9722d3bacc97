package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"cloud.google.com/go/firestore"
	"go.uber.org/zap"
	"google.golang.org/api/option"

	"github.com/atlasmart/ordertally/internal/rollup"
	"github.com/atlasmart/ordertally/internal/settings"
	"github.com/atlasmart/ordertally/internal/telemetry"
)

// commandTimeout bounds every command that is not the repeating rollup, unless -timeout says
// otherwise: well below a minute, which is how long monitors and people wait. The client may take
// up to 5 s more to roll back the transaction that the timeout ended.
const commandTimeout = 20 * time.Second

// patience is how long a command takes at most by default.
func patience(name string) time.Duration {
	switch name {
	case "audit":
		return auditTimeout
	case "cleanup":
		return cleanupTimeout
	}
	return commandTimeout
}

// deps is what a test replaces.
type deps struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	terminal       bool // stdin is one, so somebody can be asked
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
	timeout := set.Duration("timeout", patience(name), "")
	var cmd command
	wrong := func() string { return "" } // with flags that each are well-formed
	switch name {
	case "":
		cmd = func(ctx context.Context, p *program) error { return rollUp(ctx, p, *timeout) }
	case "show":
		asJSON := set.Bool("json", false, "")
		worker := set.String("worker", "", "")
		cmd = bounded(timeout, func(ctx context.Context, p *program) error {
			return show(ctx, p, *asJSON, *worker)
		})
	case "check":
		maxAge := set.Duration("max-age", 0, "")
		cmd = bounded(timeout, func(ctx context.Context, p *program) error {
			return check(ctx, p, *maxAge)
		})
		wrong = func() string {
			if *maxAge <= 0 {
				return "want a -max-age of more than 0, such as -max-age 5m"
			}
			return ""
		}
	case "audit":
		f := auditFlagsOf(set, timeout)
		cmd, wrong = f.run, f.wrong
	case "recent":
		f := recentFlagsOf(set)
		cmd, wrong = bounded(timeout, f.run), f.wrong
	case "cleanup":
		f := cleanupFlagsOf(set)
		cmd, wrong = bounded(timeout, f.run), f.wrong
	case "reshard":
		job := reshardFlags(set)
		cmd, wrong = bounded(timeout, job.run), job.wrong
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
	case *timeout <= 0:
		return nil, misused(title + ": want a -timeout of more than 0, such as -timeout 20s")
	case wrong() != "":
		return nil, misused(title + ": " + wrong())
	}
	return cmd, nil
}

// misused is a problem with the command line.
func misused(problem string) error {
	return settings.Problems{problem, "rollup -h shows how it is used"}
}

func usage(w io.Writer) {
	fmt.Fprintf(w, `rollup                     roll up once, or repeat at ROLLUP_EVERY until SIGTERM
rollup show [-json]        total, today, age, lag, the exact total now, and the shards;
                           with -worker http://HOST:8080/metrics its commits and contention too
rollup check -max-age 5m   exit 1 when the total is older than that
rollup audit [-json]       compare markers with shards; exit 1 on drift. Keeps what it verified, so
                           that markers may expire. -marker-ttl D: the shortest WORKER_MARKER_TTL
                           that was in force (840h); -repair: show what would set it right, ask
                           (or -yes), do and record it; -accept: take the counts' word for orders
                           whose markers expired before any audit, and record it
rollup recent [-n 50]      the orders counted last; -day 2026-11-30: of that day; -page TOKEN: go
                           on; -json
rollup cleanup -older-than D
                           delete expired markers that were created before that, where the
                           database has no TTL policy; -json
rollup reshard -shards N   change the number of shards; running workers follow within 30s
rollup reshard -fold       move what shards beyond that number have counted into the others
                           (with either, -json)

Each gives up after %v (an audit after %v, a cleanup after %v), or -timeout D; of a
rollup that repeats, each run after a minute.

Settings: GOOGLE_CLOUD_PROJECT, FIRESTORE_DATABASE, ROLLUP_COUNTER, ROLLUP_EVERY,
ROLLUP_AUDIT_EVERY, ROLLUP_LISTEN, ROLLUP_LOG_LEVEL. Exit codes: 0 done; 1 failed, stale or
drifted; 2 bad settings or arguments.
`, commandTimeout, auditTimeout, cleanupTimeout)
}

// bounded makes a command give up after the timeout, which is known when it runs.
func bounded(timeout *time.Duration, cmd command) command {
	return func(ctx context.Context, p *program) error {
		ctx, cancel := context.WithTimeout(ctx, *timeout)
		defer cancel()
		err := cmd(ctx, p)
		if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return fmt.Errorf("waiting %v for %s: %w", *timeout, firestoreName(), err)
		}
		return err
	}
}

// firestoreName says which Firestore, where that is not Google's.
func firestoreName() string {
	if host := os.Getenv("FIRESTORE_EMULATOR_HOST"); host != "" {
		return "the Firestore emulator at " + host
	}
	return "Firestore"
}

// rollUp rolls up once, or repeats.
func rollUp(ctx context.Context, p *program, timeout time.Duration) error {
	recent := &telemetry.Recent{}
	log := telemetry.NewLogger(p.stderr, p.cfg.level, telemetry.InProject(p.cfg.cloud.Project),
		recent.Option())
	signals, err := p.cfg.export.Open(ctx, "rollup", log)
	if err != nil {
		return err
	}
	defer signals.Close(log)
	job, err := rollup.New(p.client, p.cfg.Counter, log, signals.Meter())
	if err != nil {
		return err
	}
	if p.cfg.Every == 0 {
		return bounded(&timeout, func(ctx context.Context, _ *program) error {
			return once(ctx, job, log)
		})(ctx, p)
	}
	return (&loop{program: p, started: time.Now(), job: job, log: log, recent: recent}).run(ctx, signals)
}

func once(ctx context.Context, job *rollup.Job, log *zap.Logger) error {
	res, err := job.RunOnce(ctx, time.Now())
	if err != nil {
		return err
	}
	log.Info("rolled up", res.Fields()...)
	return nil
}
