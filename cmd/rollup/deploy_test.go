package main

import (
	"io"
	"testing"

	"github.com/atlasmart/ordertally/deploy/deploytest"
)

// TestDeployedSettings reads each manifest's settings and arguments as the rollup would.
func TestDeployedSettings(t *testing.T) {
	for _, c := range deploytest.Containers(t, "../..", "rollup") {
		t.Run(c.File, func(t *testing.T) {
			for name, value := range c.Environ() {
				t.Setenv(name, value)
			}
			if _, err := load(); err != nil {
				t.Error(err)
			}
			if _, err := parse(c.Args, io.Discard); err != nil {
				t.Errorf("%q: %v", c.Args, err)
			}
		})
	}
}

// TestRunbook wants that every command line of the runbook is one.
func TestRunbook(t *testing.T) {
	for _, args := range deploytest.CommandLines(t, "../..", "rollup") {
		if _, err := parse(args, io.Discard); err != nil {
			t.Errorf("rollup %q: %v", args, err)
		}
	}
}

// TestNamedSettings wants that every setting which deploy and docs name is one of the rollup's.
func TestNamedSettings(t *testing.T) {
	deploytest.CheckSettings(t, "../..", "ROLLUP_", func() error {
		_, err := load()
		return err
	})
}
