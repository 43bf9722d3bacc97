package main

import (
	"os"
	"testing"

	"github.com/atlasmart/ordertally/internal/emulator/emulatortest"
)

// What this test binary is instead of the tests.
const (
	demoVariable    = "DEMO_TEST_MAIN"    // The demo itself.
	programVariable = "DEMO_TEST_PROGRAM" // One of the demo's programs, by its name.
)

func TestMain(m *testing.M) {
	if name := os.Getenv(programVariable); name != "" {
		os.Unsetenv(programVariable)
		runFake(name, os.Args[1:])
	}
	if os.Getenv(demoVariable) != "" {
		os.Unsetenv(demoVariable)
		main()
	}
	emulatortest.Main(m)
}
