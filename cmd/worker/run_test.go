package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/atlasmart/ordertally/internal/counter"
	"github.com/atlasmart/ordertally/internal/emulator/emulatortest"
	"github.com/atlasmart/ordertally/internal/settings"
	"github.com/atlasmart/ordertally/internal/telemetry/telemetrytest"
)

func TestMain(m *testing.M) { emulatortest.Main(m) }

// patience is how long a test waits for what must come.
const patience = 60 * time.Second

func TestBadSettings(t *testing.T) {
	for _, tt := range []struct {
		name string
		env  map[string]string
		want string
	}{
		{"nothing set", map[string]string{"GOOGLE_CLOUD_PROJECT": "-", "WORKER_SUBSCRIPTION": "-"},
			"GOOGLE_CLOUD_PROJECT is required\nWORKER_SUBSCRIPTION is required"},
		{"empty", map[string]string{"WORKER_COUNTER": "", "WORKER_SUBSCRIPTION": ""},
			"WORKER_SUBSCRIPTION is set but empty\nWORKER_COUNTER is set but empty"},
		{"empty where it means something",
			map[string]string{"WORKER_LISTEN": "", "WORKER_DEAD_LETTER_TOPIC": ""}, ""},
		{"mistyped", map[string]string{"WORKER_SHARD": "4"},
			"WORKER_SHARD is unknown (did you mean WORKER_SHARDS?)"},
		{"malformed", map[string]string{"WORKER_SHARDS": "ten", "WORKER_MARKER_TTL": "35d",
			"WORKER_GROUP_MAX": "451", "WORKER_SHUTDOWN_GRACE": "-1s"},
			"WORKER_SHARDS must be a whole number, got \"ten\"\n" +
				"WORKER_MARKER_TTL must be a duration like 90s or 840h, got \"35d\"\n" +
				"WORKER_GROUP_MAX must be 1 to 450, got 451\n" +
				"WORKER_SHUTDOWN_GRACE must be 500ms to 10m, got \"-1s\""},
		{"of the wrong form", map[string]string{"WORKER_COUNTER": "a/b", "WORKER_TIMEZONE": "Mars",
			"WORKER_SUBSCRIPTION": "x", "WORKER_LOG_LEVEL": "loud", "WORKER_LISTEN": "8080",
			"WORKER_RAMP": "maybe"},
			`WORKER_COUNTER: "a/b" is not a counter name: want 1 to 128 of A-Z a-z 0-9 . _ - other than . or .. or __…__
WORKER_TIMEZONE: "Mars" is not a name of the IANA time zone database
WORKER_SUBSCRIPTION: "x" is not a name: want NAME or projects/PROJECT/subscriptions/NAME, NAME being a letter and 2 to 254 of letters, digits and - _ . ~ + %
WORKER_RAMP: "maybe" is none of on, off, auto
WORKER_LOG_LEVEL: log level "loud" is none of debug, info, warn, error
WORKER_LISTEN: "8080" is not an address like :8080 or 127.0.0.1:8080`},
		{"all of it at once", map[string]string{"GOOGLE_CLOUD_PROJECT": "UP CASE",
			"FIRESTORE_DATABASE": "x y", "WORKER_SHARDS": "0", "WORKER_RAMP": "maybe",
			"WORKER_FOO": "1", "WORKER_TIMEZONE": ""},
			`GOOGLE_CLOUD_PROJECT: "UP CASE" is not a project id, such as my-project
FIRESTORE_DATABASE: "x y" is not a database id: want (default) or 4 to 63 of a-z 0-9 -, beginning with a letter
WORKER_SHARDS must be 1 to 1000, got 0
WORKER_TIMEZONE is set but empty
WORKER_RAMP: "maybe" is none of on, off, auto
WORKER_FOO is unknown`},
		{"of OpenTelemetry", map[string]string{"OTEL_TRACES_EXPORTER": "zipkin",
			"OTEL_EXPORTER_OTLP_TIMEOUT": "10s"},
			"OTEL_TRACES_EXPORTER: \"zipkin\" is none of otlp, none\n" +
				"OTEL_EXPORTER_OTLP_TIMEOUT: \"10s\" is not a number of milliseconds"},
		{"contradicting", map[string]string{"WORKER_SHARDS": "20"},
			"WORKER_MAX_OUTSTANDING is 4000, want at least 8000: " +
				"2 × WORKER_SHARDS (20) × WORKER_GROUP_MAX (200)"},
		{"group larger than what is in flight", map[string]string{"WORKER_MAX_OUTSTANDING": "100"},
			"WORKER_MAX_OUTSTANDING is 100, want at least 4000: " +
				"2 × WORKER_SHARDS (10) × WORKER_GROUP_MAX (200)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("GOOGLE_CLOUD_PROJECT", "p")
			t.Setenv("WORKER_SUBSCRIPTION", "orders-worker")
			for name, value := range tt.env {
				t.Setenv(name, value)
				if value == "-" {
					os.Unsetenv(name) // t.Setenv puts it back
				}
			}
			_, err := load()
			got := ""
			if err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
			if err != nil && settings.ExitCode(err) != 2 {
				t.Errorf("exit code %d, want 2", settings.ExitCode(err))
			}
		})
	}
}

// A site is a project on the emulators with a topic, a subscription and dead letters, and the
// settings that lead a worker there.
type site struct {
	*emulatortest.Env
	topic, dead, deadSub string
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{Env: emulatortest.New(t)}
	s.topic, s.dead = s.Topic("orders"), s.Topic("orders-dead")
	s.Subscription("orders-worker", s.topic, nil)
	s.deadSub = s.Subscription("orders-dead-sub", s.dead, nil)
	s.Setenv()
	t.Setenv("WORKER_SUBSCRIPTION", "orders-worker")
	t.Setenv("WORKER_DEAD_LETTER_TOPIC", "orders-dead")
	t.Setenv("WORKER_LISTEN", "")
	t.Setenv("WORKER_STREAMS", "1")
	return s
}

// work runs a worker until the returned stop is called, which returns run's error.
func work(t *testing.T) (stop func() error) {
	t.Helper()
	return workOn(t, deps{logs: lines{t}})
}

func workOn(t *testing.T, d deps) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- run(ctx, nil, d) }()
	var once sync.Once
	var err error
	stop = func() error {
		once.Do(func() { cancel(); err = <-done })
		return err
	}
	t.Cleanup(func() { _ = stop() })
	return stop
}

// lines writes a log to a test.
type lines struct{ t *testing.T }

func (l lines) Write(p []byte) (int, error) {
	l.t.Log(string(bytes.TrimRight(p, "\n")))
	return len(p), nil
}

// eventually waits until f is content.
func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for tick := time.NewTicker(50 * time.Millisecond); !f(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %v", what, patience)
		}
	}
}

func (s *site) audit(t *testing.T) *counter.AuditReport {
	t.Helper()
	a, err := counter.Audit(t.Context(), s.Firestore(), "orders-today")
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestWorker sends good, doubled, foreign and invalid messages through a whole worker, stops it
// and starts another one on what is left.
func TestWorker(t *testing.T) {
	s := newSite(t)
	addr := emulatortest.FreeAddr(t)
	t.Setenv("WORKER_LISTEN", addr)
	stop := work(t)
	eventually(t, "the worker is ready", func() bool { return get(addr, "/readyz") == "ok\n" })

	const orders = 200
	var bodies [][]byte
	for i := range orders {
		bodies = append(bodies, fmt.Appendf(nil, `{"orderId":"ord-%d"}`, i))
	}
	// An id as long as it may be, and one that is a byte longer.
	bodies[0] = []byte(`{"orderId":"` + strings.Repeat("x", counter.MaxIDBytes) + `"}`)
	tooLong := []byte(`{"orderId":"` + strings.Repeat("x", counter.MaxIDBytes+1) + `"}`)
	bodies = append(bodies, []byte(`{"kind":"order.cancelled"}`), []byte(`{"orderId":1.5}`), tooLong)
	s.Publish(s.topic, bodies...)
	s.Publish(s.topic, bodies[:orders]...)
	settled := []string{
		`ordertally_messages_total{result="counted"} 200`,
		`ordertally_messages_total{result="duplicate"} 200`,
		`ordertally_messages_total{result="ignored"} 1`,
		`ordertally_messages_total{result="dead_lettered"} 2`,
		`ordertally_in_flight_messages 0`,
	}
	eventually(t, "every message is settled", func() bool {
		metrics := get(addr, "/metrics")
		for _, line := range settled {
			if !strings.Contains(metrics, line+"\n") {
				return false
			}
		}
		return true
	})
	if got := get(addr, "/livez"); got != "ok\n" {
		t.Errorf("/livez: %s", got)
	}
	telemetrytest.Golden(t, get(addr, "/metrics"), "testdata/metrics.txt")
	wantPage(t, get(addr, "/statusz"), s.Project)
	if err := stop(); err != nil || settings.ExitCode(err) != 0 {
		t.Errorf("stopped with %v, want a clean drain", err)
	}
	if a := s.audit(t); !a.OK || a.Count != orders {
		t.Errorf("audit: %+v, want %d", a, orders)
	}
	s.wantDeadLetters(t, map[string]string{
		`{"orderId":1.5}`: "orderId is a number that is not an integer",
		string(tooLong):   "orderId is 513 bytes long, want at most 512",
	})

	t.Setenv("WORKER_SHARDS", "3") // differs from the document, which wins
	stop = work(t)
	s.Publish(s.topic, append(bodies[:10:10], []byte(`{"orderId":"one more"}`))...)
	eventually(t, "the new order is counted", func() bool { return s.audit(t).Count == orders+1 })
	if err := stop(); err != nil {
		t.Error(err)
	}
	if a := s.audit(t); !a.OK || len(a.Shards) != 10 {
		t.Errorf("audit after the second worker: %+v, want 10 shards", a)
	}
}

// wantDeadLetters wants the dead letters to be those of the given bodies and reasons.
func (s *site) wantDeadLetters(t *testing.T, want map[string]string) {
	t.Helper()
	got, client := map[string]string{}, s.PubSub()
	eventually(t, "the dead letters", func() bool {
		res, err := client.SubscriptionAdminClient.Pull(t.Context(),
			&pubsubpb.PullRequest{Subscription: s.deadSub, MaxMessages: 10})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range res.ReceivedMessages {
			got[string(r.Message.Data)] = r.Message.Attributes["ordertally-reason"]
			s.checkOrigin(t, r.Message.Attributes)
		}
		return len(got) >= len(want)
	})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("dead letters (-want +got):\n%s", diff)
	}
}

// checkOrigin checks what a dead letter says of where it comes from.
func (s *site) checkOrigin(t *testing.T, attrs map[string]string) {
	t.Helper()
	sub := fmt.Sprintf("projects/%s/subscriptions/orders-worker", s.Project)
	if attrs["ordertally-subscription"] != sub || attrs["ordertally-message-id"] == "" ||
		attrs["ordertally-publish-time"] == "" {
		t.Errorf("dead letter's attributes: %v", attrs)
	}
}

func TestWhatTheWorldShows(t *testing.T) {
	for _, tt := range []struct {
		name  string
		setup func(t *testing.T, s *site)
		want  string
	}{
		{"no subscription", func(t *testing.T, s *site) {
			t.Setenv("WORKER_SUBSCRIPTION", "nobody")
		}, "the subscription projects/{project}/subscriptions/nobody does not exist"},
		{"no dead-letter topic", func(t *testing.T, s *site) {
			t.Setenv("WORKER_DEAD_LETTER_TOPIC", "nowhere")
		}, "the dead-letter topic projects/{project}/topics/nowhere does not exist"},
		{"dead letters that come back", func(t *testing.T, s *site) {
			t.Setenv("WORKER_DEAD_LETTER_TOPIC", "orders")
		}, "WORKER_DEAD_LETTER_TOPIC is the topic of projects/{project}/subscriptions/orders-worker " +
			"itself: each dead letter would come back as the next invalid message"},
		{"markers that live too short", func(t *testing.T, s *site) {
			s.Subscription("long-memory", s.topic, func(sub *pubsubpb.Subscription) {
				sub.MessageRetentionDuration = durationpb.New(7 * 24 * time.Hour)
			})
			t.Setenv("WORKER_SUBSCRIPTION", "long-memory")
			t.Setenv("WORKER_MARKER_TTL", "167h")
		}, "WORKER_MARKER_TTL is 167h0m0s, and projects/{project}/subscriptions/long-memory keeps " +
			"messages for 168h0m0s: a copy that comes after its marker expired would be counted again"},
		{"a counter that is none", func(t *testing.T, s *site) {
			_, err := s.Firestore().Doc("counters/orders-today").Set(t.Context(),
				map[string]any{"schemaVersion": 1, "numShards": 0})
			if err != nil {
				t.Fatal(err)
			}
		}, "counters/orders-today: numShards is 0, want 1 to 1000"},
		{"shards that the first commit would overwrite", func(t *testing.T, s *site) {
			client := s.Firestore()
			for path, data := range map[string]map[string]any{
				"counters/orders-today": {"schemaVersion": 1, "numShards": 4,
					"timeZone": "UTC"},
				"counters/orders-today/shards/0":  {"count": 5},
				"counters/orders-today/shards/1":  {"count": "5"},
				"counters/orders-today/shards/3":  {"count": int64(1)<<62 + 1},
				"counters/orders-today/shards/17": {"count": "beyond the definition"},
			} {
				if _, err := client.Doc(path).Set(t.Context(), data); err != nil {
					t.Fatal(err)
				}
			}
		}, "counters/orders-today/shards/1: count is a string, want an integer\n" +
			"counters/orders-today/shards/3: holds a count of 4611686018427387905, " +
			"and a worker starts from at most 4611686018427387904"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSite(t)
			tt.setup(t, s)
			ctx, cancel := context.WithTimeout(t.Context(), startTimeout) // if it runs after all
			defer cancel()
			err := run(ctx, nil, deps{logs: io.Discard})
			want := strings.ReplaceAll(tt.want, "{project}", s.Project)
			if err == nil || err.Error() != want || settings.ExitCode(err) != 1 {
				t.Errorf("got  %v (exit code %d)\nwant %s (1)", err, settings.ExitCode(err), want)
			}
		})
	}
	t.Run("a port that is taken", func(t *testing.T) {
		newSite(t)
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		t.Setenv("WORKER_LISTEN", l.Addr().String())
		err = run(t.Context(), nil, deps{logs: io.Discard})
		if err == nil || !strings.Contains(err.Error(), "WORKER_LISTEN") || settings.ExitCode(err) != 1 {
			t.Errorf("%v, want an error that names WORKER_LISTEN", err)
		}
	})
}

func TestArguments(t *testing.T) {
	err := run(t.Context(), []string{"-h"}, deps{logs: io.Discard})
	if err == nil || settings.ExitCode(err) != 2 || !strings.Contains(err.Error(), "takes no arguments") {
		t.Errorf("%v, want that there are no arguments", err)
	}
}

func TestStoppedBeforeItStarted(t *testing.T) {
	newSite(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := run(ctx, nil, deps{logs: io.Discard}); err != nil {
		t.Errorf("%v, want nil", err)
	}
}

// get returns a body, or "" when there is no answer.
func get(addr, path string) string {
	client := http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Get("http://" + addr + path)
	if err != nil {
		return ""
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(res.Body)
	return string(body)
}
