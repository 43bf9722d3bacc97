// Package telemetry is what a program shows of itself: its logs, its metrics, its traces, and an
// HTTP endpoint for probes and scrapes. Nothing in it is global, but for what Signals says.
package telemetry

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"golang.org/x/term"
)

// ParseLevel reads debug, info, warn or error. zapcore's own takes "" for info, and levels above
// error, at which a program would fail in silence.
func ParseLevel(name string) (zapcore.Level, error) {
	for l := zapcore.DebugLevel; l <= zapcore.ErrorLevel; l++ {
		if name == l.String() {
			return l, nil
		}
	}
	return 0, fmt.Errorf("log level %q is none of debug, info, warn, error", name)
}

// NewLogger returns a logger that writes to w, one JSON object a line with Cloud Logging's keys,
// or lines for people when w is a terminal. It never syncs w: a log line is written when the call
// returns, and a sync of a pipe or a terminal only fails.
func NewLogger(w io.Writer, level zapcore.Level, opts ...zap.Option) *zap.Logger {
	encoder := zapcore.NewJSONEncoder(cloudKeys)
	if IsTerminal(w) {
		encoder = zapcore.NewConsoleEncoder(consoleKeys())
	}
	unsynced := zapcore.AddSync(struct{ io.Writer }{w})
	core := zapcore.NewCore(encoder, zapcore.Lock(unsynced), level)
	return zap.New(core, zap.AddCaller(), zap.AddStacktrace(zapcore.DPanicLevel)).
		WithOptions(opts...)
}

// IsTerminal reports whether w is a terminal, and so read by people.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(interface{ Fd() uintptr })
	return ok && term.IsTerminal(int(f.Fd()))
}

// cloudKeys are the special fields of https://cloud.google.com/logging/docs/structured-logging.
var cloudKeys = zapcore.EncoderConfig{
	TimeKey:        "time",
	LevelKey:       "severity",
	NameKey:        "logger",
	MessageKey:     "message",
	CallerKey:      "logging.googleapis.com/sourceLocation",
	StacktraceKey:  "stack_trace",
	LineEnding:     zapcore.DefaultLineEnding,
	EncodeTime:     encodeTime,
	EncodeLevel:    encodeSeverity,
	EncodeCaller:   encodeCaller,
	EncodeDuration: zapcore.StringDurationEncoder,
}

func consoleKeys() zapcore.EncoderConfig {
	keys := cloudKeys
	keys.EncodeTime = zapcore.TimeEncoderOfLayout("15:04:05.000")
	keys.EncodeLevel = zapcore.CapitalColorLevelEncoder
	keys.EncodeCaller = zapcore.ShortCallerEncoder
	return keys
}

func encodeTime(t time.Time, enc zapcore.PrimitiveArrayEncoder) {
	zapcore.RFC3339NanoTimeEncoder(t.UTC(), enc)
}

func encodeSeverity(l zapcore.Level, enc zapcore.PrimitiveArrayEncoder) {
	enc.AppendString(severity(l))
}

// severity maps zap's levels to
// https://cloud.google.com/logging/docs/reference/v2/rest/v2/LogEntry#LogSeverity.
func severity(l zapcore.Level) string {
	switch l {
	case zapcore.DebugLevel:
		return "DEBUG"
	case zapcore.InfoLevel:
		return "INFO"
	case zapcore.WarnLevel:
		return "WARNING"
	case zapcore.ErrorLevel:
		return "ERROR"
	case zapcore.DPanicLevel:
		return "CRITICAL"
	case zapcore.PanicLevel:
		return "ALERT"
	case zapcore.FatalLevel:
		return "EMERGENCY"
	}
	return "DEFAULT"
}

// encodeCaller writes the object that Cloud Logging wants where the encoder can, as zap's JSON
// encoder does.
func encodeCaller(c zapcore.EntryCaller, enc zapcore.PrimitiveArrayEncoder) {
	if objects, ok := enc.(zapcore.ArrayEncoder); ok {
		_ = objects.AppendObject(sourceLocation(c)) // Has no error to return.
		return
	}
	zapcore.ShortCallerEncoder(c, enc)
}

// A sourceLocation is Cloud Logging's LogEntrySourceLocation, whose line is an int64, and so a
// string in JSON. The file is cut to its folder and name: the rest tells where it was built.
type sourceLocation zapcore.EntryCaller

func (s sourceLocation) MarshalLogObject(enc zapcore.ObjectEncoder) error {
	file, _, _ := strings.Cut(zapcore.EntryCaller(s).TrimmedPath(), ":")
	enc.AddString("file", file)
	enc.AddString("line", strconv.Itoa(s.Line))
	enc.AddString("function", s.Function)
	return nil
}
