package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/atlasmart/ordertally/internal/child"
)

// publish starts a replay of n orders, each several times and all shuffled, over three days.
func (h *house) publish(n int) (*child.Child, error) {
	file := filepath.Join(h.logs, "orders.jsonl")
	if err := writeOrders(file, n, time.Now()); err != nil {
		return nil, err
	}
	return child.Start("replay", h.logs, []string{
		"GOOGLE_CLOUD_PROJECT=" + h.project, "PUBSUB_EMULATOR_HOST=" + h.intake.Addr,
	}, h.path("replay"), "-topic", ordersTopic, "-file", file, "-shuffle",
		"-times", fmt.Sprint(times), "-rate", fmt.Sprint(h.rate), "-seed", fmt.Sprint(h.seed))
}

func writeOrders(file string, n int, now time.Time) (err error) {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	b := bufio.NewWriter(f)
	for i := range n {
		accepted := now.AddDate(0, 0, -i%3).Format(time.RFC3339)
		fmt.Fprintf(b, `{"orderId":%q,"acceptedAt":%q}`+"\n", orderID(i), accepted)
	}
	return b.Flush()
}

func orderID(i int) string { return fmt.Sprintf("ord-%d", i) }

// published returns nil when the replay has ended well.
func published(replay *child.Child) error {
	if !replay.State().Success() {
		return fmt.Errorf("replay ended: %v\n%s", replay.State(), replay.LogTail())
	}
	return nil
}
