package telemetry

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

const (
	// maxNotes bounds a Recent: the programs have fewer messages, and their libraries few.
	maxNotes = 50

	maxDetail = 400 // bytes of a note's detail
)

// noteFields are the fields of a log line that a Note shows. None of them holds an order id: what
// a message or an order carries is not shown, for /statusz asks nobody who they are.
var noteFields = []string{"error", "problem", "reason", "shard", "orders", "in"}

// refusal matches what Firestore says of a request that it does not take, which may quote a field.
var refusal = regexp.MustCompile(`(rpc error: code = InvalidArgument desc = ).*`)

// A Note is what is known of one warning or error that occurred once or more.
type Note struct {
	Severity string // WARNING, ERROR, …
	Message  string
	Detail   string    // of the last time
	Time     time.Time // of the last time
	Times    int
}

// A Recent keeps the warnings and errors of a logger: one note for each message, so that many of
// one kind do not push out the others. The zero Recent is empty.
type Recent struct {
	mu    sync.Mutex
	notes map[string]*Note
}

// Option makes a logger tell r of its warnings and errors.
func (r *Recent) Option() zap.Option {
	return zap.WrapCore(func(c zapcore.Core) zapcore.Core {
		return zapcore.NewTee(c, &recentCore{LevelEnabler: zapcore.WarnLevel, recent: r})
	})
}

// Notes returns the notes, the newest first.
func (r *Recent) Notes() []Note {
	r.mu.Lock()
	defer r.mu.Unlock()
	notes := make([]Note, 0, len(r.notes))
	for _, n := range r.notes {
		notes = append(notes, *n)
	}
	slices.SortFunc(notes, func(a, b Note) int { return b.Time.Compare(a.Time) })
	return notes
}

func (r *Recent) note(e zapcore.Entry, detail string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.notes == nil {
		r.notes = map[string]*Note{}
	}
	n := r.notes[e.Message]
	if n == nil {
		r.makeRoom()
		n = &Note{Message: e.Message}
		r.notes[e.Message] = n
	}
	n.Severity, n.Detail, n.Time = severity(e.Level), detail, e.Time
	n.Times++
}

// makeRoom forgets the oldest note when there are too many.
func (r *Recent) makeRoom() {
	if len(r.notes) < maxNotes {
		return
	}
	var oldest *Note
	for _, n := range r.notes {
		if oldest == nil || n.Time.Before(oldest.Time) {
			oldest = n
		}
	}
	delete(r.notes, oldest.Message)
}

// A recentCore is the part of a logger that tells a Recent.
type recentCore struct {
	zapcore.LevelEnabler
	recent *Recent
	fields []zapcore.Field
}

// With implements zapcore.Core.
func (c *recentCore) With(fields []zapcore.Field) zapcore.Core {
	return &recentCore{c.LevelEnabler, c.recent, slices.Concat(c.fields, fields)}
}

// Check implements zapcore.Core.
func (c *recentCore) Check(e zapcore.Entry, ce *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(e.Level) {
		return ce.AddCore(e, c)
	}
	return ce
}

// Write implements zapcore.Core.
func (c *recentCore) Write(e zapcore.Entry, fields []zapcore.Field) error {
	c.recent.note(e, detail(slices.Concat(c.fields, fields)))
	return nil
}

// Sync implements zapcore.Core.
func (c *recentCore) Sync() error { return nil }

func detail(fields []zapcore.Field) string {
	var parts []string
	for _, f := range fields {
		if !slices.Contains(noteFields, f.Key) {
			continue
		}
		enc := zapcore.NewMapObjectEncoder()
		f.AddTo(enc)
		parts = append(parts, fmt.Sprintf("%s: %v", f.Key, enc.Fields[f.Key]))
	}
	text := refusal.ReplaceAllString(strings.Join(parts, "; "), "${1}(see the log)")
	if len(text) > maxDetail {
		text = strings.ToValidUTF8(text[:maxDetail], "") + "…"
	}
	return text
}
