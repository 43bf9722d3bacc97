package main

import (
	"io"
	"os"

	"github.com/atlasmart/ordertally/internal/telemetry"
)

// A palette paints text for a terminal, or leaves it as it is.
type palette bool

// The select-graphic-rendition codes that are used.
const (
	bold   = "1"
	yellow = "33"
	cyan   = "36"
)

// paletteOf paints where w is a terminal that wants it (https://no-color.org).
func paletteOf(w io.Writer) palette {
	return palette(telemetry.IsTerminal(w) && os.Getenv("NO_COLOR") == "" &&
		os.Getenv("TERM") != "dumb")
}

func (p palette) paint(code, s string) string {
	if !p {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}
