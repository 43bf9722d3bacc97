package settings

import (
	"fmt"
	"reflect"
	"strconv"
	"time"
)

// outside returns the field's bounds in words and v as it is to be shown, when v is outside them.
func (f field) outside(raw string, v reflect.Value) (bounds, got string) {
	lo, hi := f.tag.Get("min"), f.tag.Get("max")
	var below, above bool
	switch v := v.Interface().(type) {
	case int:
		got = raw
		below = lo != "" && v < must(strconv.Atoi(lo))
		above = hi != "" && v > must(strconv.Atoi(hi))
	case time.Duration:
		got = quote(raw)
		if lo == "" {
			lo = "0s"
		}
		below = v < must(time.ParseDuration(lo))
		above = hi != "" && v > must(time.ParseDuration(hi))
	}
	if !below && !above {
		return "", ""
	}
	return inWords(lo, hi), got
}

func inWords(lo, hi string) string {
	switch {
	case hi == "":
		return "at least " + lo
	case lo == "":
		return "at most " + hi
	}
	return lo + " to " + hi
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(fmt.Sprintf("settings: reading a min or max tag: %v", err))
	}
	return v
}
