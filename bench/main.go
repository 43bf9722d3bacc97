// Bench is the lab: it measures the product beside the textbook, on emulators of its own.
//
// Each stage and round is one JSON object a line on standard output; then come a table of medians
// and the ratios that matter, and a plot. See the README for how to read them.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal kills
	err := bench(ctx, os.Args[1:], os.Stdout, os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(0)
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// options are the command line.
type options struct {
	rounds int
	scale  float64
	only   string
	plot   string
	long   bool
	worker string
	model  *model
}

func bench(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o := &options{model: &model{}}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.IntVar(&o.rounds, "rounds", 5, "rounds, each on fresh emulators")
	flags.Float64Var(&o.scale, "scale", 1, "of the number of orders in each stage")
	flags.StringVar(&o.only, "only", "", "names of stages, comma separated; empty: all")
	flags.StringVar(&o.plot, "plot", "", "write the plot to this SVG file")
	flags.BoolVar(&o.long, "long", false, "instead: cost growth and memory over 200,000 orders")
	flags.StringVar(&o.worker, "worker", "bin/worker", "the program whose memory -long watches")
	latency := flags.Duration("commit-latency", 0, "model: add this to every commit")
	flags.Float64Var(&o.model.DocWrites, "doc-writes", 0,
		"model: writes a second that a document takes for long; 0: no limit")
	if err := flags.Parse(args); err != nil {
		return err
	}
	o.model.CommitLatencyMs = float64(latency.Microseconds()) / 1000
	fmt.Fprintln(stderr, cannotShow)
	records, err := o.measure(ctx, stdout, stderr)
	if err != nil {
		return err
	}
	if err := writeTable(stdout, records); err != nil || o.plot == "" {
		return err
	}
	return os.WriteFile(o.plot, plot(records), 0o644)
}

// cannotShow is said with every run.
const cannotShow = `The emulator has no key ranges to split and no latency of production: hashed against
sequential ids and the effect of shards do not show here. The figures compare ways of counting on
this machine, in this run; they are no promise of production.`

func (o *options) modelled() *model {
	if o.model.CommitLatencyMs == 0 && o.model.DocWrites == 0 {
		return nil
	}
	return o.model
}

// stages returns those that were asked for.
func (o *options) stages() []stage {
	blocks := storeBlocks()
	var last []stage
	if o.modelled() == nil {
		blocks = append(blocks, pubSubBlocks()...)
		last = shuffled(working()) // a worker that runs for long has warm JVMs
	}
	all := append(shuffled(blocks...), last...)
	if o.only == "" {
		return all
	}
	names := strings.Split(o.only, ",")
	return slices.DeleteFunc(all, func(s stage) bool { return !slices.Contains(names, s.name) })
}

func (o *options) measure(ctx context.Context, stdout, stderr io.Writer) ([]record, error) {
	var all []record
	out, start := json.NewEncoder(stdout), time.Now()
	for n := range o.rounds {
		records, err := o.round(ctx, n+1, func(rec record) error { return out.Encode(rec) })
		if err != nil {
			return nil, err
		}
		all = append(all, records...)
		fmt.Fprintf(stderr, "round %d of %d done after %v\n", n+1, o.rounds,
			time.Since(start).Round(time.Second))
	}
	return all, nil
}

// round runs every stage once.
func (o *options) round(
	ctx context.Context, number int, emit func(record) error,
) (all []record, err error) {
	r, stop, err := newRound(ctx, number, o.scale, o.modelled())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	if o.long {
		if all, err = r.growth(ctx); err == nil {
			err = r.memory(ctx, o.worker, os.Stdout)
		}
		return all, err
	}
	for _, s := range o.stages() {
		records, err := s.run(ctx, r)
		if err != nil {
			return nil, err
		}
		for _, rec := range records {
			if err := emit(rec); err != nil {
				return nil, err
			}
		}
		all = append(all, records...)
	}
	return all, nil
}
