package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"github.com/google/go-cmp/cmp"

	"github.com/atlasmart/ordertally/internal/emulator/emulatortest"
	"github.com/atlasmart/ordertally/internal/settings"
)

// northwind is public test data that may lie beside the repository: the 830 orders of the
// Northwind sample, with sequential ids and dates of 1996 to 1998.
const northwind = "../../../shared/data/northwind-orders.csv"

// startWorker builds the real worker and runs it on the emulators until the test ends, when it
// must drain and exit with 0.
func startWorker(t *testing.T, env *emulatortest.Env) {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "worker")
	build := exec.Command("go", "build", "-o", bin, "../worker")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the worker: %v\n%s", err, out)
	}
	env.Subscription("orders-worker", env.Topic("orders"), nil)
	worker := exec.Command(bin)
	worker.Env = append(os.Environ(), "WORKER_SUBSCRIPTION=orders-worker", "WORKER_LISTEN=",
		"WORKER_LOG_LEVEL=warn")
	var log bytes.Buffer
	worker.Stderr = &log
	if err := worker.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := worker.Process.Signal(syscall.SIGTERM); err != nil {
			t.Errorf("stopping the worker: %v", err)
		}
		if err := worker.Wait(); err != nil {
			t.Errorf("the worker: %v\n%s", err, log.String())
		}
	})
}

// replay runs the program with -json, and returns what it reports.
func replay(t *testing.T, args ...string) (r report, err error) {
	t.Helper()
	var out, log bytes.Buffer
	err = run(t.Context(), append(args, "-topic", "orders", "-rate", "0", "-json"),
		deps{stdout: &out, stderr: &log})
	if out.Len() == 0 {
		t.Fatalf("replay: %v\n%s", err, log.String())
	}
	r.verified = &verified{}
	if jerr := json.Unmarshal(out.Bytes(), &r); jerr != nil {
		t.Fatalf("%v: %s", jerr, out.String())
	}
	return r, err
}

func TestForty(t *testing.T) {
	env := emulatortest.New(t)
	env.Setenv()
	startWorker(t, env)
	args := []string{"-file", "../../testdata/orders.jsonl", "-times", "2", "-shuffle", "-verify"}
	for range 2 { // the second time all are known
		r, err := replay(t, args...)
		if err != nil || !r.OK || r.Orders != 40 || r.Published != 80 || r.Duplicates != 40 ||
			r.Total != 40 || r.Markers != 40 || r.Missing != 0 || len(r.Shards) != 10 {
			t.Errorf("%+v %+v: %v", r, r.verified, err)
		}
	}
	t.Run("a count that is off by one", func(t *testing.T) {
		shard := env.Firestore().Doc("counters/orders-today/shards/3")
		_, err := shard.Update(t.Context(),
			[]firestore.Update{{Path: "count", Value: firestore.Increment(1)}})
		if err != nil {
			t.Fatal(err)
		}
		r, err := replay(t, args...)
		if err == nil || settings.ExitCode(err) != 1 || r.OK || r.Total != 41 ||
			!strings.Contains(err.Error(), "drift: 40 markers, and the shards sum to 41") {
			t.Errorf("%+v: %v", r.verified, err)
		}
	})
}

// TestNobodyCounts is about a counter that never moves.
func TestNobodyCounts(t *testing.T) {
	env := emulatortest.New(t)
	env.Setenv()
	env.Topic("orders")
	var out, log bytes.Buffer
	err := run(t.Context(), []string{"-topic", "orders", "-file", "../../testdata/northwind-sample.csv",
		"-verify", "-timeout", "1s"}, deps{stdout: &out, stderr: &log})
	if err == nil || settings.ExitCode(err) != 1 || !strings.Contains(err.Error(), "no such counter") {
		t.Errorf("%v, want that there is no counter", err)
	}
}

func TestMissingTopic(t *testing.T) {
	env := emulatortest.New(t)
	env.Setenv()
	var out, log bytes.Buffer
	err := run(t.Context(), []string{"-topic", "nowhere", "-file", "../../testdata/orders.jsonl"},
		deps{stdout: &out, stderr: &log})
	if err == nil || settings.ExitCode(err) != 1 || !strings.Contains(err.Error(), "topics/nowhere") {
		t.Errorf("%v, want an error that names the topic", err)
	}
}

// TestCSV replays real orders three times, and compares each day with the file's own count.
func TestCSV(t *testing.T) {
	for _, tt := range []struct {
		name, file string
		orders     int
	}{{"sample", "../../testdata/northwind-sample.csv", 20}, {"Northwind", northwind, 830}} {
		t.Run(tt.name, func(t *testing.T) {
			want := countDays(t, tt.file)
			env := emulatortest.New(t)
			env.Setenv()
			startWorker(t, env)
			r, err := replay(t, "-file", tt.file, "-times", "3", "-shuffle", "-verify")
			if err != nil || r.Total != int64(tt.orders) || r.Markers != int64(tt.orders) ||
				r.Published != 3*tt.orders {
				t.Errorf("%+v %+v: %v", r, r.verified, err)
			}
			got := map[string]int64{}
			for _, d := range r.Days {
				got[d.Day] = d.Total
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("days (-file +counter):\n%s", diff)
			}
		})
	}
}

// countDays counts a file's orders by their date column, by itself.
func countDays(t *testing.T, path string) map[string]int64 {
	t.Helper()
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("%s is not here: its real orders are not replayed", path)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	days := map[string]int64{}
	for _, row := range rows[1:] {
		if _, err := time.Parse(time.DateOnly, row[2]); err != nil {
			t.Fatal(err)
		}
		days[row[2]]++
	}
	return days
}
