package main

import (
	"cmp"
	"fmt"
	"time"

	"go.uber.org/zap/zapcore"

	"github.com/atlasmart/ordertally/internal/consume"
	"github.com/atlasmart/ordertally/internal/counter"
	"github.com/atlasmart/ordertally/internal/settings"
	"github.com/atlasmart/ordertally/internal/telemetry"
)

// config are the worker's own settings, with the prefix WORKER_.
type config struct {
	// Subscription is what the worker consumes: a short name in the project, or a full one.
	Subscription string `envconfig:"SUBSCRIPTION" required:"true"`
	// Counter is the document below counters/ that the orders are counted into.
	Counter string `envconfig:"COUNTER" default:"orders-today"`
	// Shards and TimeZone define the counter where it does not exist yet. An existing document
	// is the definition, and wins.
	Shards   int    `envconfig:"SHARDS" default:"10" min:"1" max:"1000"`
	TimeZone string `envconfig:"TIMEZONE" default:"UTC"`
	// Kinds are counted; any other kind is acknowledged and ignored. An absent kind counts.
	Kinds []string `envconfig:"KINDS" default:"ORDER_ACCEPTED,order.accepted,com.atlasmart.order.accepted"`
	// DeadLetterTopic gets what can never be counted. Empty: such messages are nacked, and the
	// subscription's own dead-letter policy moves them.
	DeadLetterTopic string `envconfig:"DEAD_LETTER_TOPIC" empty:"true"`
	// MarkerTTL is how long a marker lives after its order's acceptance or publication, whichever
	// is later. It must outlive every late copy: the subscription's retention, the dead letters'
	// retention and a day.
	MarkerTTL time.Duration `envconfig:"MARKER_TTL" default:"840h" min:"1h"`
	// MaxOutstanding is how many messages are in flight at most: at least 2 × Shards × GroupMax,
	// so that each lane can fill a group while it commits another. More would fill no
	// larger groups, and cost two goroutines and about 7 KiB each.
	MaxOutstanding int `envconfig:"MAX_OUTSTANDING" default:"4000" min:"1" max:"100000"`
	// GroupMax is how many orders one commit takes: measured, 10,400 orders/s with 50, 11,400 with 100
	// and 13,900 with 200, beyond which nothing is gained.
	GroupMax int `envconfig:"GROUP_MAX" default:"200" min:"1" max:"450"`
	// GroupLinger is how long the first order of a group waits for company when its lane is idle.
	// A commit in flight is linger enough: measured end to end in one run, 14,500 orders/s with 0,
	// 10,400 with 2ms and 12,300 with 10ms, and as many commits.
	GroupLinger time.Duration `envconfig:"GROUP_LINGER" default:"0s" max:"1s"`
	// Streams is how many streaming pulls are open. The emulator gives about 1,900 messages a second
	// to each. Measured end to end on warm emulators in one run: 15,500 orders/s with 16, 15,600
	// with 12 and 13,700 with 8, a replay 24,900, 20,300 and 14,400. Each stream costs the emulator
	// CPU in each tick: several workers there do better with fewer each.
	Streams int `envconfig:"STREAMS" default:"16" min:"1" max:"16"`
	// Ramp is on, off, or auto: whether a marker collection that is new to Firestore is spared full
	// traffic (500 orders a second, and half as much again every five minutes). auto is on where
	// the counter is new or had no order for a day, and off on the emulator, which has no key
	// ranges to split.
	Ramp string `envconfig:"RAMP" default:"auto"`
	// ShutdownGrace is from SIGTERM until everything is settled or nacked: below the platform's
	// own (10 s on Cloud Run, 30 s on Kubernetes).
	ShutdownGrace time.Duration `envconfig:"SHUTDOWN_GRACE" default:"7s" min:"500ms" max:"10m"`
	// Listen is where /livez, /readyz, /metrics and /statusz are served. Empty: nowhere.
	Listen string `envconfig:"LISTEN" default:":8080" empty:"true"`
	// LogLevel is debug, info, warn or error.
	LogLevel string `envconfig:"LOG_LEVEL" default:"info"`

	cloud        settings.Cloud
	export       telemetry.Export
	location     *time.Location
	level        zapcore.Level
	subscription string // full name
	deadLetters  string // full name, or ""
}

// load reads the settings, and checks everything that can be checked without touching the world.
func load() (*config, error) {
	cfg := &config{}
	if err := settings.Load(
		settings.Spec{Into: &cfg.cloud},
		settings.Spec{Prefix: "WORKER", Into: cfg},
		settings.Spec{Into: &cfg.export},
	); err != nil {
		return nil, err
	}
	return cfg, nil
}

// Validate implements settings.Validator.
func (c *config) Validate() []string {
	var problems []string
	problem := func(variable string, err error) {
		if err != nil {
			problems = append(problems, fmt.Sprintf("WORKER_%s: %v", variable, err))
		}
	}
	project := cmp.Or(c.cloud.Project, "unknown") // its absence is a problem of its own
	var err error
	problem("COUNTER", counter.CheckName(c.Counter))
	c.location, err = loadLocation(c.TimeZone)
	problem("TIMEZONE", err)
	c.subscription, err = consume.SubscriptionName(project, c.Subscription)
	problem("SUBSCRIPTION", err)
	if c.DeadLetterTopic != "" {
		c.deadLetters, err = consume.TopicName(project, c.DeadLetterTopic)
		problem("DEAD_LETTER_TOPIC", err)
	}
	if c.Ramp != "on" && c.Ramp != "off" && c.Ramp != "auto" {
		problem("RAMP", fmt.Errorf("%q is none of on, off, auto", c.Ramp))
	}
	c.level, err = telemetry.ParseLevel(c.LogLevel)
	problem("LOG_LEVEL", err)
	problem("LISTEN", telemetry.CheckAddr(c.Listen))
	if least := 2 * c.Shards * c.GroupMax; c.MaxOutstanding < least {
		problems = append(problems, fmt.Sprintf("WORKER_MAX_OUTSTANDING is %d, want at least %d: "+
			"2 × WORKER_SHARDS (%d) × WORKER_GROUP_MAX (%d)",
			c.MaxOutstanding, least, c.Shards, c.GroupMax))
	}
	return problems
}

func loadLocation(name string) (*time.Location, error) {
	loc, err := time.LoadLocation(name)
	if err != nil || name == "Local" {
		return nil, fmt.Errorf("%q is not a name of the IANA time zone database", name)
	}
	return loc, nil
}
