package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

const (
	// readyTimeout is how long a child has to become ready.
	readyTimeout = 30 * time.Second
	// probeEvery is the pause between two looks at a child.
	probeEvery = 50 * time.Millisecond
)

var errNotReady = fmt.Errorf("not after %v", readyTimeout)

// awaitReady returns when the child's /readyz says so. A child that ends
// before is an error at once.
func (c *running) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, readyTimeout, errNotReady)
	defer cancel()
	tick := time.NewTicker(probeEvery)
	defer tick.Stop()
	var problem error
	for {
		select {
		case <-c.Done():
			return fmt.Errorf("%s ended before it was ready: %v\n%s",
				c.Name, c.State(), c.LogTail())
		case <-ctx.Done():
			return c.notReady(context.Cause(ctx), problem)
		case <-tick.C:
			if problem = ready(ctx, c.addr); problem == nil {
				return nil
			}
		}
	}
}

// notReady tells more when it was the child that took too long, and not the demo that
// was interrupted.
func (c *running) notReady(cause, problem error) error {
	err := fmt.Errorf("waiting for %s to be ready: %w", c.Name, cause)
	if errors.Is(cause, errNotReady) {
		err = fmt.Errorf("%w: %v\n%s", err, problem, c.LogTail())
	}
	return err
}

// probe keeps no connection, which would be one that a child has to wait for when it
// stops.
var probe = http.Client{
	Transport: &http.Transport{DisableKeepAlives: true},
	Timeout:   2 * time.Second,
}

func ready(ctx context.Context, addr string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/readyz", nil)
	if err != nil {
		return err
	}
	res, err := probe.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, 1<<10))
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("/readyz is answered with %s: %s", res.Status, body)
	}
	return nil
}
