package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/atlasmart/ordertally/internal/consume"
	"github.com/atlasmart/ordertally/internal/counter"
	"github.com/atlasmart/ordertally/internal/settings"
)

// config is the command line, and the settings that every program shares.
type config struct {
	topic   string // full name
	file    string
	times   int     // how often each order is published
	shuffle bool    // publish in random order
	seed    uint64  // of the random order
	rate    float64 // messages a second; 0: as fast as it goes
	verify  bool
	counter string
	json    bool
	settle  time.Duration // how long the exact total must stand still to be believed
	timeout time.Duration // how long to wait for the counter without any progress

	cloud settings.Cloud
}

const usage = `replay -topic T -file F [flags]

  -topic T        the topic, a short name or a full one
  -file F         orders: .jsonl has a message body a line; .csv has a header with the column
                  orderID or orderId, and orderDate or acceptedAt if there are dates
  -times 2        how often each order is published
  -shuffle        publish in random order, the same for the same -seed
  -seed 1
  -rate 500       messages a second; 0: as fast as it goes
  -verify         wait for the counter, and exit 1 when a count is off by one
  -counter NAME   orders-today
  -settle 2s      how long the exact total must stand still to be believed
  -timeout 2m     how long to wait for the counter without any progress
  -json           print one JSON object

GOOGLE_CLOUD_PROJECT is required; FIRESTORE_DATABASE is (default). With -verify nobody else may
publish to the counter meanwhile. Exit codes: 0 done; 1 failed, or a count is off; 2 bad arguments.
`

// parse reads the command line and the environment, and reports every problem at once.
func parse(args []string, stderr io.Writer) (*config, error) {
	c := &config{}
	flags := flag.NewFlagSet("replay", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.Usage = func() {}
	flags.StringVar(&c.topic, "topic", "", "")
	flags.StringVar(&c.file, "file", "", "")
	flags.IntVar(&c.times, "times", 2, "")
	flags.BoolVar(&c.shuffle, "shuffle", false, "")
	flags.Uint64Var(&c.seed, "seed", 1, "")
	flags.Float64Var(&c.rate, "rate", 500, "")
	flags.BoolVar(&c.verify, "verify", false, "")
	flags.StringVar(&c.counter, "counter", "orders-today", "")
	flags.DurationVar(&c.settle, "settle", 2*time.Second, "")
	flags.DurationVar(&c.timeout, "timeout", 2*time.Minute, "")
	flags.BoolVar(&c.json, "json", false, "")
	err := flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stderr, usage)
		return nil, err
	}
	if err != nil {
		return nil, settings.Problems{"replay: " + err.Error()}
	}
	return c, c.check(flags.Args())
}

func (c *config) check(rest []string) error {
	var problems settings.Problems
	problem := func(bad bool, format string, args ...any) {
		if bad {
			problems = append(problems, fmt.Sprintf(format, args...))
		}
	}
	if err := settings.Load(settings.Spec{Into: &c.cloud}); err != nil {
		problems = append(problems, err.Error())
	}
	problem(len(rest) > 0, "unexpected arguments %q", rest)
	problem(c.topic == "", "-topic is required")
	problem(c.file == "", "-file is required")
	ext := filepath.Ext(c.file)
	problem(c.file != "" && ext != ".jsonl" && ext != ".csv",
		"-file is %q, want a .jsonl or a .csv", c.file)
	problem(c.times < 1 || c.times > 1000, "-times is %d, want 1 to 1000", c.times)
	problem(!(c.rate >= 0), "-rate is %v, want 0 or more", c.rate)
	problem(c.settle < 0, "-settle is %v, want 0s or more", c.settle)
	problem(c.timeout <= 0, "-timeout is %v, want more than 0s", c.timeout)
	err := counter.CheckName(c.counter)
	problem(err != nil, "-counter: %v", err)
	if c.topic != "" { // judged without a project too, whose lack is a problem of its own
		c.topic, err = consume.TopicName(cmp.Or(c.cloud.Project, "PROJECT"), c.topic)
		problem(err != nil, "-topic: %v", err)
	}
	if len(problems) == 0 {
		return nil
	}
	return problems
}
