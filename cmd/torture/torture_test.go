package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/protobuf/proto"

	"github.com/atlasmart/ordertally/internal/counter"
	"github.com/atlasmart/ordertally/internal/emulator/emulatortest"
	"github.com/atlasmart/ordertally/internal/settings"
)

// long skips what takes a minute or more.
func long(t *testing.T) {
	t.Helper()
	if os.Getenv("ORDERTALLY_TORTURE") == "" {
		t.Skip("takes minutes: make torture-test runs it")
	}
}

// build returns a directory of the programs that are tortured.
func build(t *testing.T) string {
	t.Helper()
	emulatortest.New(t).Setenv() // skips a short run; the torture has a project of its own
	bin := t.TempDir()
	cmd := exec.Command("go", "build", "-o", bin, "../worker", "../rollup", "../replay")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building the programs: %v\n%s", err, out)
	}
	t.Setenv("TMPDIR", t.TempDir())
	return bin
}

// checkNoLogs reports logs that a torture has left behind.
func checkNoLogs(t *testing.T) {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(os.TempDir(), "ordertally-torture-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("logs are left in %q, %v", left, err)
	}
}

// TestKill kills real workers under load.
func TestKill(t *testing.T) {
	testSeries(t, "kill", "-orders", "600", "-stops", "3", "-rate", "400")
}

// TestTerm has real workers drain under load.
func TestTerm(t *testing.T) {
	long(t)
	testSeries(t, "term", "-orders", "1000", "-stops", "3", "-rate", "600")
}

func testSeries(t *testing.T, args ...string) {
	bin := build(t)
	var out bytes.Buffer
	err := run(t.Context(), append(args, "-bin", bin), &out)
	t.Logf("%s", &out)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"exact ", " again ", " result ", "none without a marker"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output lacks %q", want)
		}
	}
	checkNoLogs(t)
}

// TestSoak_seesADrift changes by hand what a soak counts while it runs, which must end it and name
// the seed.
func TestSoak_seesADrift(t *testing.T) {
	long(t)
	bin := build(t)
	for _, tt := range []struct {
		name   string
		seed   string // names the project, which is not to be another's
		tamper func(context.Context, *firestore.Client, *counter.Reading) error
	}{
		{"a shard has one more", "7", addOne},
		{"a marker is deleted", "8", deleteMarker},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tampered := make(chan error, 1)
			torment := func(ctx context.Context, h *house) error {
				go func() {
					r, err := flowing(ctx, h.documents)
					if err == nil {
						err = tt.tamper(ctx, h.documents, r)
					}
					tampered <- err
				}()
				err := newSoak(h).run(ctx)
				return errors.Join(err, <-tampered)
			}
			args := []string{"-bin", bin, "-seed", tt.seed, "-time", "1m", "-rate", "100"}
			err := carryOut(t.Context(), "soak", args, io.Discard, torment)
			if _, ok := errors.AsType[driftError](err); !ok || settings.ExitCode(err) != 1 ||
				!strings.Contains(err.Error(), "soak with -seed "+tt.seed+": ") ||
				!strings.Contains(err.Error(), "drift 1: ") {
				t.Errorf("%v, want a drift of 1, the seed and exit code 1", err)
			}
		})
	}
}

// addOne adds an order to a shard that no marker knows.
func addOne(ctx context.Context, documents *firestore.Client, r *counter.Reading) error {
	path := fmt.Sprintf("counters/%s/shards/%d", counterName, r.Shards[0].Number)
	_, err := documents.Doc(path).Update(ctx,
		[]firestore.Update{{Path: "count", Value: firestore.Increment(1)}})
	return err
}

// deleteMarker deletes the marker of an order that is counted.
func deleteMarker(ctx context.Context, documents *firestore.Client, _ *counter.Reading) error {
	markers, err := documents.Collection("counterEvents").Limit(1).Documents(ctx).GetAll()
	if err != nil || len(markers) == 0 {
		return fmt.Errorf("%d markers: %w", len(markers), err)
	}
	_, err = markers[0].Ref.Delete(ctx)
	return err
}

// flowing waits until something is counted.
func flowing(ctx context.Context, documents *firestore.Client) (*counter.Reading, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		r, err := counter.Read(ctx, documents, counterName)
		if err == nil && r.Total() > 0 {
			return r, nil
		}
		if err := pause(ctx, lookEvery); err != nil {
			return nil, err
		}
	}
}

// TestSoak_interrupted ends a soak early, which is no failure and leaves nothing.
func TestSoak_interrupted(t *testing.T) {
	long(t)
	bin := build(t)
	c, err := parse("soak", []string{"-bin", bin, "-rate", "100"})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	err = withHouse(t.Context(), c, &out, func(ctx context.Context, h *house) error {
		ctx, interrupt := context.WithCancel(ctx)
		defer interrupt()
		waited := make(chan error, 1)
		go func() {
			_, err := flowing(ctx, h.documents)
			interrupt()
			waited <- err
		}()
		err := newSoak(h).run(ctx)
		return errors.Join(err, <-waited)
	})
	if err != nil {
		t.Errorf("%v\n%s", err, &out)
	}
	if !strings.Contains(out.String(), "interrupted ") || !strings.Contains(out.String(), "drift 0") {
		t.Errorf("the output lacks a summary:\n%s", &out)
	}
	checkNoLogs(t)
}

// TestWitness_lost acknowledges an order that nobody counted.
func TestWitness_lost(t *testing.T) {
	env := emulatortest.New(t)
	w := &witness{ledger: newLedger(), store: env.Firestore(), life: 1}
	w.ledger.deliver(1, "a-1", "m-1", "ord-1", time.Now())
	ack, err := proto.Marshal(&pubsubpb.AcknowledgeRequest{AckIds: []string{"a-1"}})
	if err != nil {
		t.Fatal(err)
	}
	w.request(t.Context(), pubsubpb.Subscriber_Acknowledge_FullMethodName, ack)
	if err := w.problem(); !errors.Is(err, errLost) {
		t.Errorf("%v, want that the order is lost", err)
	}
}

func TestArguments(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{"", `there is no command ""`},
		{"kil", `there is no command "kil"`},
		{"soak -orders 1", "-orders"},
		{"soak -time 1ms", "-time is 1ms"},
		{"soak -time 8h -rate 300", "at most 10.4"},
		{"kill -stops 0 -orders 0 rest", `unexpected arguments ["rest"]`},
	} {
		err := run(t.Context(), strings.Fields(tt.args), io.Discard)
		if settings.ExitCode(err) != 2 || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("torture %s: %v, want %q and exit code 2", tt.args, err, tt.want)
		}
	}
	if err := run(t.Context(), []string{"-h"}, io.Discard); settings.ExitCode(err) != 0 {
		t.Errorf("-h: %v", err)
	}
}
