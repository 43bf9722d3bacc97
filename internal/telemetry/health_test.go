package telemetry

import (
	"errors"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type answer struct {
	Status int
	Body   string
}

func ask(t *testing.T, h *Health, path string) answer {
	t.Helper()
	w := httptest.NewRecorder()
	Handler(h, newMetrics(t), page).ServeHTTP(w, httptest.NewRequest("GET", path, nil))
	if got := w.Header().Get("Content-Type"); got != "text/plain; charset=utf-8" {
		t.Errorf("Content-Type of %s = %q", path, got)
	}
	return answer{w.Code, w.Body.String()}
}

func says(text string) func() error {
	return func() error {
		if text == "" {
			return nil
		}
		return errors.New(text)
	}
}

func TestHealth(t *testing.T) {
	tests := []struct {
		name        string
		live, ready []string // What the checks a, b, … say.
		wantLive    answer
		wantReady   answer
	}{
		{"no checks", nil, nil, answer{200, "ok\n"}, answer{200, "ok\n"}},
		{"all well", []string{""}, []string{"", ""}, answer{200, "ok\n"}, answer{200, "ok\n"}},
		{"not ready", []string{""}, []string{"not yet known", "", "no stream"},
			answer{200, "ok\n"}, answer{503, "a: not yet known\nc: no stream\n"}},
		{"not live", []string{"stuck"}, []string{""},
			answer{503, "a: stuck\n"}, answer{200, "ok\n"}},
		{"one line each", nil, []string{"one\ntwo", "x"},
			answer{200, "ok\n"}, answer{503, "a: one; two\nb: x\n"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var h Health
			for i, text := range test.live {
				h.Live(string(rune('a'+i)), says(text))
			}
			for i, text := range test.ready {
				h.Ready(string(rune('a'+i)), says(text))
			}
			if diff := cmp.Diff(test.wantLive, ask(t, &h, "/livez")); diff != "" {
				t.Errorf("/livez (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.wantReady, ask(t, &h, "/readyz")); diff != "" {
				t.Errorf("/readyz (-want +got):\n%s", diff)
			}
		})
	}
}

// TestHealth_whileServing is for the race detector.
func TestHealth_whileServing(t *testing.T) {
	var h Health
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { h.Ready("x", says("")) })
		wg.Go(func() { ask(t, &h, "/readyz") })
	}
	wg.Wait()
}
