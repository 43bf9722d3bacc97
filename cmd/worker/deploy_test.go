package main

import (
	"testing"

	"github.com/atlasmart/ordertally/deploy/deploytest"
)

// TestDeployedSettings reads each manifest's settings as the worker would: every one that is
// required is there, and none is unknown, malformed or in contradiction with another.
func TestDeployedSettings(t *testing.T) {
	for _, c := range deploytest.Containers(t, "../..", "worker") {
		t.Run(c.File, func(t *testing.T) {
			for name, value := range c.Environ() {
				t.Setenv(name, value)
			}
			if _, err := load(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestNamedSettings wants that every setting which deploy and docs name is one of the worker's.
func TestNamedSettings(t *testing.T) {
	deploytest.CheckSettings(t, "../..", "WORKER_", func() error {
		_, err := load()
		return err
	})
}
