package emulatortest

import (
	"context"
	"sync"
	"testing"

	"github.com/atlasmart/ordertally/internal/emulator"
)

// server is one of the two emulators: named from the start, or started on demand.
type server struct {
	start func(ctx context.Context, logDir string) (*emulator.Emulator, error)

	mu      sync.Mutex
	addr    string
	started *emulator.Emulator
	err     error // Of the start: that of the first test is that of all others.
}

// address returns where the emulator is, and ends the test if it cannot be had.
func (s *server) address(tb testing.TB) string {
	tb.Helper()
	if !shared.running {
		tb.Fatal("emulatortest.Main was not called from TestMain")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.addr == "" && s.err == nil {
		// The emulator outlives the test that happens to be the first one.
		s.started, s.err = s.start(context.WithoutCancel(tb.Context()), "")
		if s.err == nil {
			s.addr = s.started.Addr
		}
	}
	if s.err != nil {
		tb.Fatal(s.err)
	}
	return s.addr
}

func (s *server) stop() error {
	if s.started == nil {
		return nil
	}
	return s.started.Stop()
}
