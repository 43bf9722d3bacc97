package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"google.golang.org/grpc"

	"github.com/atlasmart/ordertally/internal/consume"
	"github.com/atlasmart/ordertally/internal/counter"
	"github.com/atlasmart/ordertally/internal/emulator/emulatortest"
	"github.com/atlasmart/ordertally/internal/settings"
)

const forty = "../../testdata/orders.jsonl"

// count counts the orders of a file as a worker does, and returns their identities.
func count(
	t *testing.T, client *firestore.Client, path string, published time.Time,
) []counter.EventID {
	t.Helper()
	def, _, err := counter.Define(t.Context(), client, "orders-today",
		counter.Definition{Shards: 4, Location: time.UTC})
	if err != nil {
		t.Fatal(err)
	}
	c, err := counter.New(client, "orders-today", def,
		counter.Options{GroupMax: 100, MarkerTTL: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	bodies, err := readFile(path)
	if err != nil {
		t.Fatal(err)
	}
	decoder := consume.NewDecoder(consume.DefaultKinds)
	var ids []counter.EventID
	var adds sync.WaitGroup
	for _, body := range bodies {
		o, err := decoder.Decode(consume.Message{Data: body, PublishTime: published}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, o.Event("orders-today"))
		adds.Go(func() {
			if _, err := c.Add(t.Context(), o); err != nil {
				t.Error(err)
			}
		})
	}
	adds.Wait()
	return ids
}

// TestTampered counts forty orders, spoils one thing, and replays where nobody counts any more.
func TestTampered(t *testing.T) {
	for _, tt := range []struct {
		name  string
		spoil func(t *testing.T, client *firestore.Client, ids []counter.EventID) error
		want  string // "": all is exact
	}{
		{"nothing", func(*testing.T, *firestore.Client, []counter.EventID) error { return nil }, ""},
		{"an increment without a marker",
			func(t *testing.T, client *firestore.Client, _ []counter.EventID) error {
				_, err := client.Doc("counters/orders-today/shards/3").Update(t.Context(),
					[]firestore.Update{{Path: "count", Value: firestore.Increment(1)}})
				return err
			}, "the audit found drift: 40 markers, and the shards sum to 41"},
		{"a deleted marker",
			func(t *testing.T, client *firestore.Client, ids []counter.EventID) error {
				_, err := client.Doc("counterEvents/" + ids[7].String()).Delete(t.Context())
				return err
			}, "1 orders have no marker; the total is 40, want 41; " +
				"the audit found drift: 39 markers, and the shards sum to 40"},
		{"a marker of another day",
			func(t *testing.T, client *firestore.Client, ids []counter.EventID) error {
				_, err := client.Doc("counterEvents/"+ids[20].String()).Update(t.Context(),
					[]firestore.Update{{Path: "day", Value: "1999-12-31"}})
				return err
			}, "1 orders count for a day that is not theirs"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			env := emulatortest.New(t)
			env.Setenv()
			env.Topic("orders")
			client := env.Firestore()
			ids := count(t, client, forty, time.Now())
			if err := tt.spoil(t, client, ids); err != nil {
				t.Fatal(err)
			}
			r, err := replay(t, "-file", forty, "-verify", "-settle", "100ms", "-timeout", "1s")
			if tt.want == "" {
				if err != nil || !r.OK || r.Total != 40 || r.Expected != 40 {
					t.Errorf("%+v: %v, want 40 and no error", r.verified, err)
				}
				return
			}
			if settings.ExitCode(err) != 1 || r.OK || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%+v: %v, want exit code 1 and %q", r.verified, err, tt.want)
			}
		})
	}
}

// TestStart: an order of the file, left over from an earlier replay, is counted just before one of
// the reads from which the total is expected.
func TestStart(t *testing.T) {
	for _, tt := range []struct {
		name   string
		lookup int // the counter, the markers, the counter again
	}{{"before the markers are read", 2}, {"before the total is read again", 3}} {
		t.Run(tt.name, func(t *testing.T) {
			env := emulatortest.New(t)
			other := env.Firestore()
			count(t, other, allButFirst(t, forty), time.Now())
			lookups := 0
			client := env.Firestore(grpc.WithStreamInterceptor(func(ctx context.Context,
				desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, stream grpc.Streamer,
				opts ...grpc.CallOption) (grpc.ClientStream, error) {
				if strings.HasSuffix(method, "/BatchGetDocuments") {
					if lookups++; lookups == tt.lookup {
						count(t, other, forty, time.Now())
					}
				}
				return stream(ctx, desc, conn, method, opts...)
			}))
			bodies, err := readFile(forty)
			if err != nil {
				t.Fatal(err)
			}
			c := &config{counter: "orders-today", timeout: time.Minute}
			orders := look(bodies, c.counter, time.Now())
			v, err := newVerifier(t.Context(), client, c, orders, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			if v.before != 40 || v.fresh() != 0 || lookups < tt.lookup {
				t.Errorf("a total of %d and %d orders to come after %d lookups, want 40 and none",
					v.before, v.fresh(), lookups)
			}
		})
	}
}

func allButFirst(t *testing.T, path string) string {
	t.Helper()
	all, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, others, _ := bytes.Cut(all, []byte("\n"))
	short := filepath.Join(t.TempDir(), "short.jsonl")
	if err := os.WriteFile(short, others, 0o600); err != nil {
		t.Fatal(err)
	}
	return short
}

// TestSettle counts an order once more when every marker is there: wait must see it.
func TestSettle(t *testing.T) {
	env := emulatortest.New(t)
	client := env.Firestore()
	v := &verifier{tally: tally{client: client, name: "orders-today"}, before: 40,
		ids: count(t, client, forty, time.Now()), settle: 200 * time.Millisecond, timeout: time.Minute}
	var moves []int64
	err := v.wait(t.Context(), func(n int64) {
		if moves = append(moves, n); len(moves) > 1 {
			return
		}
		_, err := client.Doc("counters/orders-today/shards/0").Update(t.Context(),
			[]firestore.Update{{Path: "count", Value: firestore.Increment(1)}})
		if err != nil {
			t.Error(err)
		}
	})
	if err != nil || moves[len(moves)-1] != 1 {
		t.Errorf("%v: %v, want the second count to be seen", moves, err)
	}
}

// TestInterruptedWait is Ctrl-C when all is published and nobody counts.
func TestInterruptedWait(t *testing.T) {
	env := emulatortest.New(t)
	env.Setenv()
	env.Topic("orders")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	log := &trigger{word: "published 80 of 80", do: cancel}
	err := run(ctx, []string{"-topic", "orders", "-file", forty, "-rate", "0", "-verify"},
		deps{stdout: &bytes.Buffer{}, stderr: log})
	if settings.ExitCode(err) != 1 || !strings.Contains(err.Error(), "after all 80 messages were published") {
		t.Errorf("%v, want exit code 1 and that 80 messages were published", err)
	}
}

// A trigger does something when it is told a word.
type trigger struct {
	word string
	do   func()
	bytes.Buffer
}

func (w *trigger) Write(b []byte) (int, error) {
	if strings.Contains(string(b), w.word) {
		w.do()
	}
	return w.Buffer.Write(b)
}

func TestDays(t *testing.T) {
	seoul, err := time.LoadLocation("Asia/Seoul")
	if err != nil {
		t.Fatal(err)
	}
	at := func(s string) time.Time {
		got, err := time.Parse(time.RFC3339, s)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	evening := dates{at("2026-11-30T20:00:00Z")}
	both := evening.add(at("2026-10-01T00:00:00Z")).add(at("2026-12-01T05:00:00+09:00"))
	if len(both) != 2 {
		t.Errorf("%v, want each moment once", both)
	}
	undated := dates{time.Time{}}
	for _, tt := range []struct {
		name   string
		dates  dates
		loc    *time.Location
		day    string
		before bool // counted before the run, which spans midnight UTC
		want   int
	}{
		{"its own", evening, time.UTC, "2026-11-30", false, 0},
		{"its own, of the counter's zone", evening, seoul, "2026-12-01", false, 0},
		{"another", evening, seoul, "2026-11-30", false, 1},
		{"another, before", evening, time.UTC, "2026-12-01", true, 1},
		{"one of two", both, time.UTC, "2026-10-01", false, 0},
		{"none of two", both, time.UTC, "2026-10-02", false, 1},
		{"undated, the first day", undated, time.UTC, "2026-11-30", false, 0},
		{"undated, the last day", undated, time.UTC, "2026-12-01", false, 0},
		{"undated, the day before", undated, time.UTC, "2026-11-29", false, 1},
		{"undated, the day after", undated, time.UTC, "2026-12-02", false, 1},
		{"undated, before", undated, time.UTC, "2026-11-01", true, 0},
	} {
		id := counter.EventID{1}
		v := &verifier{orders: contents{orders: map[counter.EventID]dates{id: tt.dates}},
			began: at("2026-11-30T23:50:00Z"), known: map[counter.EventID]counter.Marker{}}
		if tt.before {
			v.known[id] = counter.Marker{}
		}
		marked := map[counter.EventID]counter.Marker{id: {Day: tt.day}}
		if got := v.wrongDays(marked, tt.loc, at("2026-12-01T00:10:00Z")); got != tt.want {
			t.Errorf("%s: %d wrong days, want %d", tt.name, got, tt.want)
		}
	}
}

// TestLook is about what a file amounts to, among others the one that the demonstration counts.
func TestLook(t *testing.T) {
	bodies := [][]byte{[]byte(`{"orderId":"42"}`), []byte(`{"orderId":42}`),
		[]byte(`{"orderId":"42","source":"erp"}`), []byte(`{"kind":"ORDER_SHIPPED"}`),
		[]byte(`{}`), []byte(`not json`)}
	c := look(bodies, "orders-today", time.Now())
	if len(c.orders) != 2 || c.copies != 1 || c.ignored != 1 || c.invalid != 2 {
		t.Errorf("%+v, want 2 orders, 1 copy, 1 ignored and 2 invalid", c)
	}
	for path, want := range map[string]int{forty: 40, "../../testdata/northwind-sample.csv": 20} {
		bodies, err := readFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if c := look(bodies, "orders-today", time.Now()); len(c.orders) != want || len(bodies) != want {
			t.Errorf("%s: %d orders in %d bodies, want %d", path, len(c.orders), len(bodies), want)
		}
	}
}
