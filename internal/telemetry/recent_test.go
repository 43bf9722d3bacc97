package telemetry

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A running clock is a second later each time.
type running struct{ now time.Time }

func (r *running) Now() time.Time                     { r.now = r.now.Add(time.Second); return r.now }
func (*running) NewTicker(time.Duration) *time.Ticker { panic("nobody needs a ticker") }

func newRecent() (*Recent, *zap.Logger) {
	r := &Recent{}
	clock := &running{time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)}
	return r, NewLogger(io.Discard, zapcore.DebugLevel, r.Option(), zap.WithClock(clock))
}

func TestRecent(t *testing.T) {
	r, log := newRecent()
	log.Info("counting")
	log.Warn("commit attempt went wrong", zap.Error(errors.New("slow")), zap.Int("shard", 3))
	log.Error("order refused", zap.String("orderId", "ord-secret"), zap.Any("panic", "ord-secret"),
		zap.Error(fmt.Errorf("committing 1 orders: %w",
			status.Error(codes.InvalidArgument, `bad value "ord-secret"`))))
	log.With(zap.Duration("in", time.Second)).
		Warn("commit attempt went wrong", zap.Error(errors.New("gone")), zap.Int("shard", 4))
	minute := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	want := []Note{
		{Severity: "WARNING", Message: "commit attempt went wrong", Times: 2,
			Detail: "in: 1s; error: gone; shard: 4", Time: minute.Add(4 * time.Second)},
		{Severity: "ERROR", Message: "order refused", Times: 1,
			Detail: "error: committing 1 orders: rpc error: code = InvalidArgument desc = (see the log)",
			Time:   minute.Add(3 * time.Second)},
	}
	if diff := cmp.Diff(want, r.Notes()); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}

func TestRecent_bounded(t *testing.T) {
	r, log := newRecent()
	for i := range maxNotes + 3 {
		log.Warn(fmt.Sprint("message ", i), zap.String("reason", strings.Repeat("é", maxDetail)))
	}
	notes := r.Notes()
	if len(notes) != maxNotes || notes[len(notes)-1].Message != "message 3" {
		t.Errorf("%d notes, the oldest %q", len(notes), notes[len(notes)-1].Message)
	}
	if n := len(notes[0].Detail); n > maxDetail+len("…") {
		t.Errorf("a detail of %d bytes", n)
	}
}
