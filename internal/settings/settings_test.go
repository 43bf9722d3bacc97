package settings

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

type shared struct {
	Project  string `envconfig:"GOOGLE_CLOUD_PROJECT" required:"true"`
	Database string `envconfig:"FIRESTORE_DATABASE" default:"(default)"`
}

type common struct {
	Counter string `envconfig:"COUNTER" default:"orders-today"`
	Listen  string `envconfig:"LISTEN" default:":8080" empty:"true"`
}

type worker struct {
	common
	Shards    int           `envconfig:"SHARDS" default:"10" min:"1"`
	Kinds     []string      `envconfig:"KINDS" default:"ORDER_ACCEPTED,order.accepted"`
	Topic     string        `envconfig:"DEAD_LETTER_TOPIC" empty:"true"`
	MarkerTTL time.Duration `envconfig:"MARKER_TTL" default:"840h"`
	GroupMax  int           `envconfig:"GROUP_MAX" default:"200" min:"1" max:"450"`
	Linger    time.Duration `envconfig:"GROUP_LINGER" default:"5ms" max:"1s"`
	Shift     time.Duration `envconfig:"SHIFT" default:"-1h" min:"-24h"`
	Low       int           `envconfig:"LOW" max:"3"`
	Trace     bool          `envconfig:"TRACE"`

	derived int
}

const contradiction = "WORKER_SHARDS must not exceed WORKER_GROUP_MAX"

func (w *worker) Validate() (problems []string) {
	w.derived = 2 * w.Shards
	if w.Shards > w.GroupMax {
		problems = append(problems, contradiction)
	}
	return problems
}

// setenv makes env the whole environment of the test.
func setenv(t *testing.T, env map[string]string) {
	t.Helper()
	before := os.Environ()
	t.Cleanup(func() {
		os.Clearenv()
		for _, entry := range before {
			name, value, _ := strings.Cut(entry, "=")
			os.Setenv(name, value)
		}
	})
	os.Clearenv()
	for name, value := range env {
		if err := os.Setenv(name, value); err != nil {
			t.Fatal(err)
		}
	}
}

func load() (shared, worker, error) {
	var s shared
	var w worker
	err := Load(Spec{Into: &s}, Spec{Prefix: "WORKER", Into: &w})
	return s, w, err
}

func TestLoad_values(t *testing.T) {
	kinds := []string{"ORDER_ACCEPTED", "order.accepted"}
	defaults := worker{common: common{"orders-today", ":8080"}, Shards: 10, Kinds: kinds,
		MarkerTTL: 840 * time.Hour, GroupMax: 200, Linger: 5 * time.Millisecond,
		Shift: -time.Hour, derived: 20}
	tests := []struct {
		name string
		env  map[string]string
		want func(*worker)
	}{
		{"defaults", nil, func(*worker) {}},
		{"all", map[string]string{"WORKER_COUNTER": "c", "WORKER_SHARDS": "3",
			"WORKER_KINDS": "a,b", "WORKER_DEAD_LETTER_TOPIC": "t", "WORKER_MARKER_TTL": "1h30m",
			"WORKER_GROUP_MAX": "450", "WORKER_GROUP_LINGER": "0", "WORKER_TRACE": "true",
			"WORKER_SHIFT": "-24h", "WORKER_LISTEN": "127.0.0.1:0", "WORKER_LOW": "-7"},
			func(w *worker) {
				*w = worker{common: common{"c", "127.0.0.1:0"}, Shards: 3,
					Kinds: []string{"a", "b"}, Topic: "t", MarkerTTL: 90 * time.Minute,
					GroupMax: 450, Shift: -24 * time.Hour, Low: -7, Trace: true, derived: 6}
			}},
		{"edges", map[string]string{"WORKER_SHARDS": "1", "WORKER_GROUP_MAX": "1",
			"WORKER_GROUP_LINGER": "1s", "WORKER_LOW": "3"},
			func(w *worker) {
				w.Shards, w.GroupMax, w.Linger, w.Low, w.derived = 1, 1, time.Second, 3, 2
			}},
		{"empty hides the default", map[string]string{"WORKER_LISTEN": ""},
			func(w *worker) { w.Listen = "" }},
		{"no fallback to a name without its prefix", map[string]string{"SHARDS": "7"},
			func(*worker) {}},
		{"another prefix", map[string]string{"WORKERS_X": "1", "WORKER": "1"}, func(*worker) {}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			setenv(t, test.env)
			t.Setenv("GOOGLE_CLOUD_PROJECT", "demo")
			s, got, err := load()
			if err != nil {
				t.Fatal(err)
			}
			want := defaults
			test.want(&want)
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(worker{})); diff != "" {
				t.Errorf("settings (-want +got):\n%s", diff)
			}
			if want := (shared{"demo", "(default)"}); s != want {
				t.Errorf("shared settings = %+v, want %+v", s, want)
			}
		})
	}
}

func TestLoad_problems(t *testing.T) {
	const kubernetes = "? set enableServiceLinks: false)"
	long := strings.Repeat("x", 59) + "éé"
	tests := []struct{ name, value, want string }{
		{"COUNTER", "", `is set but empty`},
		{"COUNTER", " ", `must be text without white space around it, got " "`},
		{"COUNTER", "c\n", `must be text without white space around it, got "c\n"`},
		{"COUNTER", "a\xff", `must be text without white space around it, got "a\xff"`},
		{"KINDS", "", `is set but empty`},
		{"KINDS", "a, b", `must be a list like a,b without white space or empty items, got "a, b"`},
		{"KINDS", "a,", `must be a list like a,b without white space or empty items, got "a,"`},
		{"KINDS", " ", `must be a list like a,b without white space or empty items, got " "`},
		{"SHARDS", "ten", `must be a whole number, got "ten"`},
		{"SHARDS", "010", `must be a whole number, got "010"`},
		{"SHARDS", "1_0", `must be a whole number, got "1_0"`},
		{"SHARDS", "0x10", `must be a whole number, got "0x10"`},
		{"SHARDS", "1e3", `must be a whole number, got "1e3"`},
		{"SHARDS", "0", `must be at least 1, got 0`},
		{"SHARDS", long, `must be a whole number, got "` + long[:59] + `"…`},
		{"GROUP_MAX", "900", `must be 1 to 450, got 900`},
		{"GROUP_MAX", "0", `must be 1 to 450, got 0`},
		{"LOW", "4", `must be at most 3, got 4`},
		{"MARKER_TTL", "35d", `must be a duration like 90s or 840h, got "35d"`},
		{"MARKER_TTL", "90", `must be a duration like 90s or 840h, got "90"`},
		{"MARKER_TTL", "-5s", `must be at least 0s, got "-5s"`},
		{"GROUP_LINGER", "-1ns", `must be 0s to 1s, got "-1ns"`},
		{"GROUP_LINGER", "2s", `must be 0s to 1s, got "2s"`},
		{"SHIFT", "-25h", `must be at least -24h, got "-25h"`},
		{"TRACE", "yes", `must be true or false, got "yes"`},
		{"SHARD", "1", `is unknown (did you mean WORKER_SHARDS?)`},
		{"SHARDSES", "1", `is unknown (did you mean WORKER_SHARDS?)`},
		{"SHAR", "1", `is unknown (did you mean WORKER_SHARDS?)`},
		{"SHRADS", "1", `is unknown (did you mean WORKER_SHARDS?)`},
		{"SHRAD", "1", `is unknown`},
		{"GROUPMAX", "", `is unknown (did you mean WORKER_GROUP_MAX?)`},
		{"CONCURRENCY", "1", `is unknown`},
		{"PORT", "1", `is unknown (injected by Kubernetes for a Service named worker` + kubernetes},
		{"SERVICE_PORT", "80",
			`is unknown (injected by Kubernetes for a Service named worker` + kubernetes},
		{"SERVICE_PORT_HTTP", "80",
			`is unknown (injected by Kubernetes for a Service named worker` + kubernetes},
		{"PORT_80_TCP_PORT", "80",
			`is unknown (injected by Kubernetes for a Service named worker` + kubernetes},
		{"API_V2_SERVICE_HOST", "10.0.0.1",
			`is unknown (injected by Kubernetes for a Service named worker-api-v2` + kubernetes},
	}
	for _, test := range tests {
		t.Run(test.name+"="+test.value, func(t *testing.T) {
			name := "WORKER_" + test.name
			setenv(t, map[string]string{"GOOGLE_CLOUD_PROJECT": "demo", name: test.value})
			_, _, err := load()
			if diff := cmp.Diff(error(Problems{name + " " + test.want}), err); diff != "" {
				t.Errorf("Load (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLoad_allAtOnce(t *testing.T) {
	setenv(t, map[string]string{"WORKER_SHARDS": "ten", "WORKER_COUNTER": "", "WORKER_Z": "",
		"WORKER_MARKER_TTL": "35d", "WORKER_A\nB": "1", "FIRESTORE_DATABASE": ""})
	_, _, err := load()
	const want = `GOOGLE_CLOUD_PROJECT is required
FIRESTORE_DATABASE is set but empty
WORKER_COUNTER is set but empty
WORKER_SHARDS must be a whole number, got "ten"
WORKER_MARKER_TTL must be a duration like 90s or 840h, got "35d"
WORKER_A\nB is unknown
WORKER_Z is unknown`
	if err == nil || err.Error() != want {
		t.Errorf("Load = %v\nwant %s", err, want)
	}
	if _, ok := errors.AsType[Problems](err); !ok {
		t.Errorf("Load's error is a %T, want Problems", err)
	}
}

// TestLoad_validate proves that a struct is asked about the whole only when its parts are right,
// and that another struct's problems do not silence it.
func TestLoad_validate(t *testing.T) {
	tests := []struct {
		name string
		env  map[string]string
		want Problems
	}{
		{"right by itself", map[string]string{"WORKER_SHARDS": "300"},
			Problems{"GOOGLE_CLOUD_PROJECT is required", contradiction}},
		{"beside another problem", map[string]string{"WORKER_SHARDS": "300", "WORKER_TRACE": "maybe"},
			Problems{"GOOGLE_CLOUD_PROJECT is required",
				`WORKER_TRACE must be true or false, got "maybe"`, contradiction}},
		{"of a variable that is wrong by itself", map[string]string{"WORKER_SHARDS": "many",
			"WORKER_GROUP_MAX": "5"}, Problems{"GOOGLE_CLOUD_PROJECT is required",
			`WORKER_SHARDS must be a whole number, got "many"`}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			setenv(t, test.env)
			_, _, err := load()
			if diff := cmp.Diff(error(test.want), err); diff != "" {
				t.Errorf("Load (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLoad_keepsOnlyWhatIsNotSet(t *testing.T) {
	setenv(t, map[string]string{"GOOGLE_CLOUD_PROJECT": "demo", "WORKER_DEAD_LETTER_TOPIC": ""})
	s, w := shared{}, worker{Low: 2, Topic: "before"}
	if err := Load(Spec{Into: &s}, Spec{Prefix: "WORKER", Into: &w}); err != nil {
		t.Fatal(err)
	}
	if w.Low != 2 || w.Topic != "" {
		t.Errorf("Low = %d, Topic = %q, want the 2 that was there and nothing", w.Low, w.Topic)
	}
}

// TestLoad_programmersMistakes wants a panic that says what to mend.
func TestLoad_programmersMistakes(t *testing.T) {
	setenv(t, map[string]string{"A": "1"})
	tests := []struct {
		want string
		into any
	}{
		{"struct { A int }.A has no envconfig tag", &struct{ A int }{}},
		{"cannot be of type float64", &struct {
			A float64 `envconfig:"A"`
		}{}},
		{"min or max tag", &struct {
			A int `envconfig:"A" min:"one"`
		}{}},
	}
	for _, test := range tests {
		t.Run(test.want, func(t *testing.T) {
			defer func() {
				if got, _ := recover().(string); !strings.Contains(got, test.want) {
					t.Errorf("panic %q, want it to contain %q", got, test.want)
				}
			}()
			t.Errorf("Load = %v, want a panic", Load(Spec{Into: test.into}))
		})
	}
}
