package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"github.com/atlasmart/ordertally/internal/settings"
)

// config is the command line.
type config struct {
	bin    string
	seed   uint64
	orders int
	stops  int     // of workers
	rate   float64 // messages a second
	time   time.Duration
	direct bool
}

const usage = `torture kill [flags]   orders delivered twice, workers killed with SIGKILL
torture term [flags]   the same with SIGTERM
torture soak [flags]   everything breaks at random for a chosen time

  -bin DIR        where worker, rollup and replay are (bin)
  -seed N         of all that is random; 0: one by chance
  -orders N       kill, term: how many, each delivered twice (20000)
  -stops N        kill, term: how many workers are stopped at least (25)
  -rate N         messages a second (kill, term: 800; soak: 300, or less for a long time)
  -time 10m       soak: how long
  -direct         kill: without relays; acknowledgements are then not seen
`

// run carries out one invocation.
func run(ctx context.Context, args []string, stdout io.Writer) error {
	name := ""
	if len(args) > 0 {
		name, args = args[0], args[1:]
	}
	torments := map[string]func(context.Context, *house) error{
		"kill": func(ctx context.Context, h *house) error { return newSeries(h, kill).run(ctx) },
		"term": func(ctx context.Context, h *house) error { return newSeries(h, term).run(ctx) },
		"soak": func(ctx context.Context, h *house) error { return newSoak(h).run(ctx) },
	}
	torment, ok := torments[name]
	switch {
	case name == "-h" || name == "-help" || name == "--help" || name == "help":
		fmt.Fprint(stdout, usage)
		return flag.ErrHelp
	case !ok:
		return settings.Problems{fmt.Sprintf("there is no command %q; torture -h shows those that are", name)}
	}
	return carryOut(ctx, name, args, stdout, torment)
}

// carryOut does what the arguments ask, and names the seed when it fails.
func carryOut(
	ctx context.Context, name string, args []string, stdout io.Writer,
	torment func(context.Context, *house) error,
) error {
	c, err := parse(name, args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stdout, usage)
	}
	if err != nil {
		return err
	}
	err = withHouse(ctx, c, stdout, torment)
	if err != nil {
		return fmt.Errorf("%s with -seed %d: %w", name, c.seed, err)
	}
	return nil
}

func parse(name string, args []string) (*config, error) {
	c := &config{}
	flags := flag.NewFlagSet("torture "+name, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.Usage = func() {}
	flags.StringVar(&c.bin, "bin", "bin", "")
	flags.Uint64Var(&c.seed, "seed", 0, "")
	flags.Float64Var(&c.rate, "rate", 0, "")
	if name == "soak" {
		flags.DurationVar(&c.time, "time", 10*time.Minute, "")
	} else {
		flags.IntVar(&c.orders, "orders", 20_000, "")
		flags.IntVar(&c.stops, "stops", 25, "")
	}
	if name == "kill" {
		flags.BoolVar(&c.direct, "direct", false, "")
	}
	err := flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		return nil, err
	}
	if err != nil {
		return nil, settings.Problems{err.Error()}
	}
	for c.seed == 0 {
		c.seed = rand.Uint64()
	}
	return c, c.check(name, flags.Args())
}

// soakOrders bounds the orders of a soak: the Firestore emulator keeps every version of every
// document in memory, about 2 KB for each order.
const soakOrders = 150_000

func (c *config) check(name string, rest []string) error {
	var problems settings.Problems
	problem := func(bad bool, format string, args ...any) {
		if bad {
			problems = append(problems, fmt.Sprintf(format, args...))
		}
	}
	problem(len(rest) > 0, "unexpected arguments %q", rest)
	problem(!(c.rate >= 0), "-rate is %v, want more than 0", c.rate)
	if name == "soak" {
		problem(c.time < time.Second, "-time is %v, want 1s or more", c.time)
		most := soakOrders * times / max(c.time, time.Second).Seconds()
		problem(c.rate > most, "-rate is %v, want at most %.1f for %v: the emulator "+
			"frees no memory", c.rate, most, c.time)
		if c.rate == 0 {
			c.rate = min(300, most)
		}
	} else {
		problem(c.orders < 1 || c.orders > soakOrders, "-orders is %d, want 1 to %d", c.orders, soakOrders)
		problem(c.stops < 1, "-stops is %d, want 1 or more", c.stops)
		if c.rate == 0 {
			c.rate = 800
		}
	}
	if len(problems) == 0 {
		return nil
	}
	return problems
}
