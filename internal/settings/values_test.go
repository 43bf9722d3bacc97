package settings

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestValues(t *testing.T) {
	cfg := &struct {
		Name  string        `envconfig:"NAME"`
		Kinds []string      `envconfig:"KINDS"`
		Every time.Duration `envconfig:"EVERY"`
		Trace bool          `envconfig:"TRACE"`
		Many  int           `envconfig:"MANY"`

		derived int
	}{"x", []string{"a", "b"}, 90 * time.Second, true, 3, 4}
	common := &struct {
		Project string `envconfig:"GOOGLE_CLOUD_PROJECT"`
	}{}
	want := []Value{{"GOOGLE_CLOUD_PROJECT", ""}, {"WORKER_NAME", "x"}, {"WORKER_KINDS", "a,b"},
		{"WORKER_EVERY", "1m30s"}, {"WORKER_TRACE", "true"}, {"WORKER_MANY", "3"}}
	got := Values(Spec{Into: common}, Spec{Prefix: "WORKER", Into: cfg})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
}
