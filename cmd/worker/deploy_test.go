package main

import (
	"strings"
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
	names := deploytest.SettingNames(t, "../..", "WORKER_")
	for name := range names {
		t.Setenv(name, "")
	}
	_, err := load()
	for line := range strings.Lines(err.Error()) {
		if name, _, _ := strings.Cut(line, " "); strings.Contains(line, "is unknown") {
			t.Errorf("%s: %s", names[name], line)
		}
	}
}
