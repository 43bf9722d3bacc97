package main

import (
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap/zapcore"

	"github.com/atlasmart/ordertally/internal/counter"
	"github.com/atlasmart/ordertally/internal/settings"
	"github.com/atlasmart/ordertally/internal/telemetry"
)

// config are the rollup's own settings, with the prefix ROLLUP_.
type config struct {
	// Counter is the document below counters/ to roll up.
	Counter string `envconfig:"COUNTER" default:"orders-today"`
	// Every is the interval of a repeating rollup. 0: once.
	Every time.Duration `envconfig:"EVERY" default:"0s" max:"24h"`
	// AuditEvery is how often a repeating rollup also compares the markers with the shards, which
	// costs a read for each 1,000 markers, twice. 0: never.
	AuditEvery time.Duration `envconfig:"AUDIT_EVERY" default:"0s" max:"720h"`
	// Listen is where a repeating rollup serves /livez, /readyz, /metrics and /statusz. Empty:
	// nowhere.
	Listen string `envconfig:"LISTEN" default:":8080" empty:"true"`
	// LogLevel is debug, info, warn or error.
	LogLevel string `envconfig:"LOG_LEVEL" default:"info"`

	cloud  settings.Cloud
	export telemetry.Export
	level  zapcore.Level
}

// leastEvery bounds how often a counter is rolled up: a run itself waits 100 ms for its read time
// to pass, and writes one document, which Firestore takes about once a second for long
// (https://cloud.google.com/firestore/docs/best-practices#updates_to_a_single_document).
const leastEvery = time.Second

// leastAuditEvery keeps audits, which cost by the marker, from following one another.
const leastAuditEvery = time.Minute

func load() (*config, error) {
	cfg := &config{}
	if err := settings.Load(
		settings.Spec{Into: &cfg.cloud},
		settings.Spec{Prefix: "ROLLUP", Into: cfg},
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
			problems = append(problems, fmt.Sprintf("ROLLUP_%s: %v", variable, err))
		}
	}
	problem("COUNTER", counter.CheckName(c.Counter))
	if c.Every != 0 && c.Every < leastEvery {
		problem("EVERY", fmt.Errorf("want 0 or at least %v, got %v", leastEvery, c.Every))
	}
	if c.AuditEvery != 0 && c.AuditEvery < leastAuditEvery {
		problem("AUDIT_EVERY", fmt.Errorf("want 0 or at least %v, got %v",
			leastAuditEvery, c.AuditEvery))
	} else if c.AuditEvery != 0 && c.Every == 0 {
		problem("AUDIT_EVERY", errors.New("audits only a rollup that repeats: set ROLLUP_EVERY too"))
	}
	var err error
	c.level, err = telemetry.ParseLevel(c.LogLevel)
	problem("LOG_LEVEL", err)
	problem("LISTEN", telemetry.CheckAddr(c.Listen))
	return problems
}
