package emulatortest

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/atlasmart/ordertally/internal/emulator"
)

// shared is what the tests of one binary share, from Main to its end.
var shared struct {
	running           bool
	firestore, pubSub server
}

// Main runs the tests, stops the emulators that they started, and exits. It is an
// error if the tests pass and leave a goroutine behind.
func Main(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	shared.firestore = server{addr: take("FIRESTORE_EMULATOR_HOST"), start: emulator.StartFirestore}
	shared.pubSub = server{addr: take("PUBSUB_EMULATOR_HOST"), start: emulator.StartPubSub}
	shared.running = true
	code := m.Run()
	err := errors.Join(shared.firestore.stop(), shared.pubSub.stop())
	if code == 0 {
		err = errors.Join(err, goleak.Find(LeakOptions()...))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "after the tests:", err)
		return max(code, 1)
	}
	return code
}

// take removes a variable from the environment and returns its value. The Firestore
// client that finds it dials a connection by itself, without the options of the
// test, and never closes it if it was given another one.
func take(variable string) string {
	value := os.Getenv(variable)
	os.Unsetenv(variable)
	return value
}
