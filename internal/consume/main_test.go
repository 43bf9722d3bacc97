package consume

import (
	"testing"

	"github.com/atlasmart/ordertally/internal/emulator/emulatortest"
)

// TestMain wants that no goroutine is left when the tests have passed; what the client libraries
// leave, and why, is in emulatortest.LeakOptions.
func TestMain(m *testing.M) { emulatortest.Main(m) }
