package telemetry

import (
	"bytes"
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// A stopped clock shows the same time for ever.
type stopped time.Time

func (s stopped) Now() time.Time                       { return time.Time(s) }
func (s stopped) NewTicker(time.Duration) *time.Ticker { panic("nobody needs a ticker") }

var noon = stopped(time.Date(2026, 11, 30, 21, 15, 0, 120300000, time.FixedZone("JST", 9*3600)))

func TestNewLogger_lines(t *testing.T) {
	tests := []struct {
		name string
		log  func(*zap.Logger)
		want string
	}{
		{"debug", func(l *zap.Logger) { l.Debug("m") },
			`{"severity":"DEBUG","time":"2026-11-30T12:15:00.1203Z","message":"m"}`},
		{"info", func(l *zap.Logger) {
			l.Info("counted", zap.String("orderId", "ord-\"1\"\n"), zap.Int("shard", 3),
				zap.Duration("took", 1500*time.Millisecond))
		}, `{"severity":"INFO","time":"2026-11-30T12:15:00.1203Z","message":"counted",` +
			`"orderId":"ord-\"1\"\n","shard":3,"took":"1.5s"}`},
		{"warn", func(l *zap.Logger) { l.Named("rollup").Warn("m") },
			`{"severity":"WARNING","time":"2026-11-30T12:15:00.1203Z","logger":"rollup",` +
				`"message":"m"}`},
		{"error", func(l *zap.Logger) { l.Error("m", zap.Error(errors.New("gone"))) },
			`{"severity":"ERROR","time":"2026-11-30T12:15:00.1203Z","message":"m","error":"gone"}`},
		{"dpanic", func(l *zap.Logger) { l.DPanic("m") },
			`{"severity":"CRITICAL","time":"2026-11-30T12:15:00.1203Z","message":"m"}`},
		{"panic", func(l *zap.Logger) {
			defer func() { _ = recover() }()
			l.Panic("m")
		}, `{"severity":"ALERT","time":"2026-11-30T12:15:00.1203Z","message":"m"}`},
		{"fatal", func(l *zap.Logger) {
			defer func() { _ = recover() }()
			l.WithOptions(zap.WithFatalHook(zapcore.WriteThenPanic)).Fatal("m")
		}, `{"severity":"EMERGENCY","time":"2026-11-30T12:15:00.1203Z","message":"m"}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var out bytes.Buffer
			test.log(NewLogger(&out, zapcore.DebugLevel).WithOptions(zap.WithClock(noon),
				zap.WithCaller(false), zap.AddStacktrace(zapcore.InvalidLevel)))
			if diff := cmp.Diff(test.want+"\n", out.String()); diff != "" {
				t.Errorf("log (-want +got):\n%s", diff)
			}
		})
	}
}

// TestNewLogger_span wants the fields that lead from a line to its trace.
func TestNewLogger_span(t *testing.T) {
	span := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1, 2, 15: 16},
		SpanID: trace.SpanID{10, 7: 11}, TraceFlags: trace.FlagsSampled})
	ctx := trace.ContextWithSpanContext(t.Context(), span)
	const head = `{"severity":"WARNING","time":"2026-11-30T12:15:00.1203Z","message":"m"`
	const fields = `"logging.googleapis.com/trace":` +
		`"projects/p/traces/01020000000000000000000000000010",` +
		`"logging.googleapis.com/spanId":"0a0000000000000b",` +
		`"logging.googleapis.com/trace_sampled":true`
	tests := []struct {
		name string
		opts []zap.Option
		log  func(*zap.Logger)
		want string
	}{
		{"of a line", []zap.Option{InProject("p")}, func(l *zap.Logger) {
			l.Warn("m", zap.Int("a", 1), Span(ctx), zap.Int("b", 2))
		}, head + `,"a":1,` + fields + `,"b":2}`},
		{"of a logger", []zap.Option{InProject("p")}, func(l *zap.Logger) {
			l.With(Span(ctx)).Warn("m", zap.Int("a", 1))
		}, head + `,` + fields + `,"a":1}`},
		{"none", []zap.Option{InProject("p")}, func(l *zap.Logger) {
			l.Warn("m", Span(t.Context()), zap.Int("a", 1))
		}, head + `,"a":1}`},
		{"without a project", nil, func(l *zap.Logger) { l.Warn("m", Span(ctx), zap.Int("a", 1)) },
			head + `,"a":1}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var out bytes.Buffer
			opts := append(test.opts, zap.WithClock(noon), zap.WithCaller(false))
			log := NewLogger(&out, zapcore.InfoLevel, opts...)
			log.Debug("below the level", Span(ctx))
			test.log(log)
			if diff := cmp.Diff(test.want+"\n", out.String()); diff != "" {
				t.Errorf("log (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNewLogger_caller(t *testing.T) {
	var out bytes.Buffer
	NewLogger(&out, zapcore.InfoLevel).WithOptions(zap.WithClock(noon)).Info("m")
	got := regexp.MustCompile(`"line":"[0-9]+"`).ReplaceAllString(out.String(), `"line":"N"`)
	const want = `{"severity":"INFO","time":"2026-11-30T12:15:00.1203Z",` +
		`"logging.googleapis.com/sourceLocation":{"file":"telemetry/log_test.go","line":"N",` +
		`"function":"github.com/atlasmart/ordertally/internal/telemetry.TestNewLogger_caller"},` +
		`"message":"m"}` + "\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

func TestNewLogger_stackTrace(t *testing.T) {
	var out bytes.Buffer
	log := NewLogger(&out, zapcore.InfoLevel)
	log.Error("m")
	if strings.Contains(out.String(), "stack_trace") {
		t.Errorf("an error has a stack trace: %s", out.String())
	}
	log.DPanic("m")
	if !strings.Contains(out.String(), `"stack_trace":"github.com/atlasmart/ordertally/`) {
		t.Errorf("a bug has no stack trace: %s", out.String())
	}
}

func TestNewLogger_level(t *testing.T) {
	var out bytes.Buffer
	NewLogger(&out, zapcore.WarnLevel).Info("m")
	if out.Len() > 0 {
		t.Errorf("below the level, but written: %s", out.String())
	}
}

func TestNewLogger_pipe(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	log := NewLogger(w, zapcore.InfoLevel)
	log.Info("m")
	if err := errors.Join(log.Sync(), w.Close()); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if _, err := out.ReadFrom(r); err != nil || !strings.HasPrefix(out.String(), "{") {
		t.Errorf("to a pipe = %q, %v, want JSON", out.String(), err)
	}
}

func TestIsTerminal(t *testing.T) {
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("no terminal to be had: %v", err)
	}
	defer terminal.Close()
	if !IsTerminal(terminal) || IsTerminal(new(bytes.Buffer)) {
		t.Errorf("a terminal is one: %v, a buffer is one: %v",
			IsTerminal(terminal), IsTerminal(new(bytes.Buffer)))
	}
}

func TestConsoleKeys(t *testing.T) {
	entry := zapcore.Entry{Level: zapcore.WarnLevel, Time: noon.Now(), Message: "slow",
		Caller: zapcore.NewEntryCaller(0, "/src/ordertally/internal/rollup/rollup.go", 7, true)}
	got, err := zapcore.NewConsoleEncoder(consoleKeys()).
		EncodeEntry(entry, []zapcore.Field{zap.Int("shard", 3)})
	if err != nil {
		t.Fatal(err)
	}
	want := "21:15:00.120\t\x1b[33mWARN\x1b[0m\trollup/rollup.go:7\tslow\t{\"shard\": 3}\n"
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("line (-want +got):\n%s", diff)
	}
}

func TestParseLevel(t *testing.T) {
	tests := map[string]zapcore.Level{"debug": zapcore.DebugLevel, "info": zapcore.InfoLevel,
		"warn": zapcore.WarnLevel, "error": zapcore.ErrorLevel}
	for name, want := range tests {
		if got, err := ParseLevel(name); got != want || err != nil {
			t.Errorf("ParseLevel(%q) = %v, %v, want %v", name, got, err, want)
		}
	}
	for _, name := range []string{"", "loud", "INFO", "fatal", "Level(-2)"} {
		if got, err := ParseLevel(name); err == nil {
			t.Errorf("ParseLevel(%q) = %v, want an error", name, got)
		}
	}
}

func BenchmarkNewLogger(b *testing.B) {
	log := NewLogger(nowhere{}, zapcore.InfoLevel)
	b.ReportAllocs()
	for b.Loop() {
		log.Info("counted", zap.String("orderId", "ord-9001"), zap.Int("shard", 3))
	}
}

type nowhere struct{}

func (nowhere) Write(p []byte) (int, error) { return len(p), nil }
