package telemetry

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// Health holds the named checks behind /livez and /readyz. The zero Health has none and is well.
//
// A check returns what is wrong, or nil. It is called by every probe, by several at a time, and
// must not block: it reports what the component already knows.
type Health struct {
	mu          sync.Mutex
	live, ready []check
}

type check struct {
	name string
	fn   func() error
}

// Live adds a check that fails when only a restart helps.
func (h *Health) Live(name string, fn func() error) { h.add(&h.live, name, fn) }

// Ready adds a check that fails while the program cannot do its work, whoever is to blame.
func (h *Health) Ready(name string, fn func() error) { h.add(&h.ready, name, fn) }

func (h *Health) add(to *[]check, name string, fn func() error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	*to = append(*to, check{name, fn})
}

// report answers with 200 and "ok", or with 503 and a line for each check that fails.
func (h *Health) report(of *[]check) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		h.mu.Lock()
		checks := slices.Clone(*of)
		h.mu.Unlock()
		status, body := http.StatusOK, "ok\n"
		if failing := run(checks); failing != "" {
			status, body = http.StatusServiceUnavailable, failing
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body) // The prober is gone: nobody is left to tell.
	}
}

func run(checks []check) string {
	var lines strings.Builder
	for _, c := range checks {
		if err := c.fn(); err != nil {
			problem := strings.ReplaceAll(err.Error(), "\n", "; ")
			lines.WriteString(c.name + ": " + problem + "\n")
		}
	}
	return lines.String()
}
