package main

import (
	"bytes"
	"os"
	"testing"
	"time"
)

func TestWords(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                                "less than a second",
		-time.Second:                     "less than a second",
		499 * time.Millisecond:           "less than a second",
		500 * time.Millisecond:           "1 second",
		1500 * time.Millisecond:          "2 seconds",
		89 * time.Second:                 "89 seconds",
		90 * time.Second:                 "2 minutes",
		2*time.Minute + 29*time.Second:   "2 minutes",
		89 * time.Minute:                 "89 minutes",
		90 * time.Minute:                 "2 hours",
		35 * time.Hour:                   "35 hours",
		36 * time.Hour:                   "2 days",
		90*24*time.Hour + 11*time.Minute: "90 days",
	} {
		if got := words(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}

func TestBar(t *testing.T) {
	for _, tt := range []struct {
		n, most int64
		want    string
	}{
		{0, 1, ""}, {-1, 1, ""}, {1, 1 << 62, "▏"}, {1, 80, "▌"}, {3, 80, "█▌"},
		{1 << 62, 1 << 62, "████████████████████████████████████████"},
	} {
		if got := bar(tt.n, tt.most); got != tt.want {
			t.Errorf("%d of %d is %q, want %q", tt.n, tt.most, got, tt.want)
		}
	}
}

func TestPalette(t *testing.T) {
	if paletteOf(&bytes.Buffer{}) {
		t.Error("paints where there is no terminal")
	}
	tty := openTerminal(t)
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "")
	if !paletteOf(tty) {
		t.Error("does not paint on a terminal")
	}
	t.Setenv("NO_COLOR", "1")
	if paletteOf(tty) {
		t.Error("paints with NO_COLOR")
	}
	t.Setenv("NO_COLOR", "")
	t.Setenv("TERM", "dumb")
	if paletteOf(tty) {
		t.Error("paints on a dumb terminal")
	}
}

// openTerminal returns the near end of a pseudo-terminal.
func openTerminal(t *testing.T) *os.File {
	t.Helper()
	tty, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("no pseudo-terminal here: %v", err)
	}
	t.Cleanup(func() { tty.Close() })
	return tty
}
