package main

import (
	"io"
	"testing"

	"github.com/atlasmart/ordertally/deploy/deploytest"
)

// TestRunbook wants that every command line of the runbook is one.
func TestRunbook(t *testing.T) {
	t.Setenv("GOOGLE_CLOUD_PROJECT", "p")
	for _, args := range deploytest.CommandLines(t, "../..", "replay") {
		if _, err := parse(args, io.Discard); err != nil {
			t.Errorf("replay %q: %v", args, err)
		}
	}
}
