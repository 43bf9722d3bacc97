package emulator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

// errPortTaken tells that another process was quicker to bind the port.
var errPortTaken = errors.New("its port was taken by another process")

const (
	// pollEvery is how often a starting emulator is looked at.
	pollEvery = 20 * time.Millisecond
	// startOutput bounds the output that is looked at, and shownOutput what of it an
	// error shows: a JVM names the cause first and a long trace afterwards.
	startOutput = 64 << 10
	shownOutput = 2 << 10
)

// await returns nil when the emulator serves addr, and an error as soon as it
// cannot: it ended, its port is taken, or ctx is done. The Pub/Sub emulator does
// not end without its port, so the output is what tells.
func (g *group) await(ctx context.Context, ready, addr string) error {
	for {
		gone, err := g.gone(pollEvery)
		if err != nil {
			return err
		}
		out := g.written()
		switch {
		case bytes.Contains(out, []byte("Address already in use")):
			return errPortTaken
		case gone:
			return fmt.Errorf("it ended at its start (it needs a Java 17+ runtime):\n%s", excerpt(out))
		case errors.Is(ctx.Err(), context.Canceled):
			return context.Cause(ctx)
		case ctx.Err() != nil:
			return fmt.Errorf("it is not ready: %w:\n%s", context.Cause(ctx), excerpt(out))
		case bytes.Contains(out, []byte(ready)) && answers(ctx, addr) == nil:
			return nil
		}
	}
}

// written returns the first part of the emulator's output.
func (g *group) written() []byte {
	f, err := os.Open(g.output)
	if err != nil {
		return []byte(err.Error())
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, startOutput))
	if err != nil {
		return []byte(err.Error())
	}
	return b
}

func excerpt(out []byte) string {
	return strings.TrimSpace(string(out[:min(len(out), shownOutput)]))
}

// probe keeps no connection and thus no goroutine, and asks no proxy.
var probe = http.Client{
	Transport: &http.Transport{DisableKeepAlives: true},
	Timeout:   2 * time.Second,
}

// answers returns nil if an emulator says at addr that it is well: both do so in
// the same way.
func answers(ctx context.Context, addr string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/", nil)
	if err != nil {
		return err
	}
	res, err := probe.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, 16))
	if err != nil {
		return err
	}
	if got := strings.TrimSpace(string(body)); got != "Ok" {
		return fmt.Errorf("GET / is answered with %s %q instead of Ok", res.Status, got)
	}
	return nil
}
