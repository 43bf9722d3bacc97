package emulatortest

import (
	"testing"

	"github.com/atlasmart/ordertally/internal/emulator"
)

// FreeAddr returns a loopback address for what the test starts, as emulator.FreeAddr does.
func FreeAddr(tb testing.TB) string {
	tb.Helper()
	addr, err := emulator.FreeAddr()
	if err != nil {
		tb.Fatal(err)
	}
	return addr
}
