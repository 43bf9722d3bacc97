package counter

import (
	"fmt"
	"time"
)

// fields reads the fields of one document strictly, and keeps the first thing that is wrong with
// it. An increment silently replaces a field that is not a number, and a lax reader would sum
// what is left of it: whatever reads a document checks the types.
type fields struct {
	path string // the document, for errors
	data map[string]any
	err  error
}

func (f *fields) fail(format string, args ...any) {
	if f.err == nil {
		f.err = fmt.Errorf(f.path+": "+format, args...)
	}
}

// integer returns a field that must be there and be a whole number.
func (f *fields) integer(name string) int64 {
	v, ok := f.data[name].(int64)
	if !ok {
		f.fail("%s is %s, want an integer", name, describe(f.data, name))
	}
	return v
}

// str returns a field that must be there and be a string.
func (f *fields) str(name string) string {
	v, ok := f.data[name].(string)
	if !ok {
		f.fail("%s is %s, want a string", name, describe(f.data, name))
	}
	return v
}

// time returns a field that may be missing, and must be a time where it is there.
func (f *fields) time(name string) time.Time {
	v, ok := f.data[name].(time.Time)
	if _, there := f.data[name]; there && !ok {
		f.fail("%s is %s, want a time", name, describe(f.data, name))
	}
	return v
}

// integers returns a map of whole numbers, which may be missing.
func (f *fields) integers(name string) map[string]int64 {
	raw, there := f.data[name]
	m, ok := raw.(map[string]any)
	if there && !ok {
		f.fail("%s is %s, want a map of integers", name, describe(f.data, name))
	}
	out := make(map[string]int64, len(m))
	for k := range m {
		v, ok := m[k].(int64)
		if !ok {
			f.fail("%s.%s is %s, want an integer", name, k, describe(m, k))
		}
		out[k] = v
	}
	return out
}

// describe names a value of the wrong type without printing more of it than its type: a document
// may hold what does not belong into a log.
func describe(data map[string]any, name string) string {
	v, there := data[name]
	switch v.(type) {
	case nil:
		if there {
			return "null"
		}
		return "missing"
	case int64:
		return "an integer"
	case float64:
		return "a double"
	case string:
		return "a string"
	case bool:
		return "a boolean"
	case time.Time:
		return "a time"
	case map[string]any:
		return "a map"
	case []any:
		return "an array"
	}
	return fmt.Sprintf("a %T", v)
}
