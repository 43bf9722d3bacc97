package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/atlasmart/ordertally/internal/emulator"
)

// longOrders is how many orders the long stages count.
const longOrders = 200_000

// growth counts orders into one counter, and measures the first 20,000 and those after 200,000.
func (r *round) growth(ctx context.Context) ([]record, error) {
	c, err := r.open(ctx, r.name("growth"), groupDefault)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	var records []record
	const part = 20_000
	now := time.Now()
	for from := 0; from <= longOrders; from += part {
		mode := fmt.Sprintf("growth-%06d", from)
		rec, err := r.measure(record{Mode: mode, Concurrency: callers, Shards: shards,
			GroupMax: groupDefault}, func() (run, error) {
			return drive(ctx, part, callers, patience, func(i int) error {
				_, err := c.Add(ctx, order(from+i, now))
				return err
			}), nil
		})
		if err != nil {
			return nil, err
		}
		records = append(records, rec)
	}
	return records, nil
}

// memory runs the real worker over 200,000 messages, and says what it occupies on the way.
func (r *round) memory(ctx context.Context, worker string, out io.Writer) error {
	q, err := r.queue(ctx)
	if err != nil {
		return err
	}
	addr, err := emulator.FreeAddr()
	if err != nil {
		return err
	}
	cmd := exec.Command(worker)
	cmd.Env = append(os.Environ(), "GOOGLE_CLOUD_PROJECT="+project,
		"FIRESTORE_EMULATOR_HOST="+r.fsAddr, "PUBSUB_EMULATOR_HOST="+r.psAddr,
		"WORKER_SUBSCRIPTION="+q.subscription, "WORKER_COUNTER=memory", "WORKER_LISTEN="+addr,
		"WORKER_STREAMS="+strconv.Itoa(streams))
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting the worker: %w", err)
	}
	defer func() { _ = cmd.Wait() }()
	defer func() { _ = cmd.Process.Signal(syscall.SIGTERM) }()
	filled := make(chan error, 1)
	go func() { filled <- r.fill(ctx, q, longOrders) }()
	err = watchMemory(ctx, addr, out)
	if ferr := <-filled; err == nil {
		err = ferr
	}
	return err
}

// watchMemory prints the worker's resident memory at each tenth of the orders.
func watchMemory(ctx context.Context, addr string, out io.Writer) error {
	next, peak := 0.0, 0.0
	for tick := time.NewTicker(200 * time.Millisecond); ; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		body := scrape(addr)
		counted := value(body, `ordertally_messages_total{result="counted"}`)
		rss := value(body, "process_resident_memory_bytes") / (1 << 20)
		peak = max(peak, rss)
		if counted >= next && rss > 0 {
			fmt.Fprintf(out, `{"mode":"memory","orders":%.0f,"residentMiB":%.1f,"peakMiB":%.1f}`+"\n",
				counted, rss, peak)
			next = counted + longOrders/10
		}
		if counted >= longOrders {
			return nil
		}
	}
}

func scrape(addr string) string {
	res, err := http.Get("http://" + addr + "/metrics")
	if err != nil {
		return "" // it is starting
	}
	defer res.Body.Close()
	b, _ := io.ReadAll(res.Body)
	return string(b)
}

func value(metrics, name string) float64 {
	for line := range strings.Lines(metrics) {
		if rest, ok := strings.CutPrefix(line, name+" "); ok {
			v, _ := strconv.ParseFloat(strings.TrimSpace(rest), 64)
			return v
		}
	}
	return 0
}
