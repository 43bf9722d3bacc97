package telemetry

import (
	"context"
	"slices"

	"go.opentelemetry.io/otel/trace"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// Span is the field of a log line that belongs to ctx's span. A logger with InProject writes it as
// Cloud Logging wants it; any other one skips it, and so does each where there is no span.
func Span(ctx context.Context) zap.Field {
	span := trace.SpanContextFromContext(ctx)
	if !span.IsValid() {
		return zap.Skip()
	}
	return zap.Field{Type: zapcore.SkipType, Interface: span}
}

// InProject makes a logger write Span fields, by the names of
// https://cloud.google.com/logging/docs/structured-logging. The trace's name holds the project.
func InProject(project string) zap.Option {
	return zap.WrapCore(func(c zapcore.Core) zapcore.Core { return &spanCore{c, project} })
}

type spanCore struct {
	zapcore.Core
	project string
}

// With implements zapcore.Core.
func (c *spanCore) With(fields []zapcore.Field) zapcore.Core {
	return &spanCore{c.Core.With(c.spell(fields)), c.project}
}

// Check implements zapcore.Core.
func (c *spanCore) Check(e zapcore.Entry, ce *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(e.Level) {
		return ce.AddCore(e, c)
	}
	return ce
}

// Write implements zapcore.Core.
func (c *spanCore) Write(e zapcore.Entry, fields []zapcore.Field) error {
	return c.Core.Write(e, c.spell(fields))
}

// spell replaces a Span field by what Cloud Logging reads.
func (c *spanCore) spell(fields []zapcore.Field) []zapcore.Field {
	for i, f := range fields {
		if span, ok := f.Interface.(trace.SpanContext); ok && f.Type == zapcore.SkipType {
			return slices.Concat(fields[:i], []zapcore.Field{
				zap.String("logging.googleapis.com/trace",
					"projects/"+c.project+"/traces/"+span.TraceID().String()),
				zap.String("logging.googleapis.com/spanId", span.SpanID().String()),
				zap.Bool("logging.googleapis.com/trace_sampled", span.IsSampled()),
			}, fields[i+1:])
		}
	}
	return fields
}
