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

// Problems returns a line for each check that fails: of those for /livez, and for /readyz.
func (h *Health) Problems() (live, ready string) { return h.run(&h.live), h.run(&h.ready) }

// report answers with 200 and "ok", or with 503 and a line for each check that fails.
func (h *Health) report(of *[]check) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		status, body := http.StatusOK, "ok\n"
		if failing := h.run(of); failing != "" {
			status, body = http.StatusServiceUnavailable, failing
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body) // The prober is gone: nobody is left to tell.
	}
}

func (h *Health) run(of *[]check) string {
	h.mu.Lock()
	checks := slices.Clone(*of)
	h.mu.Unlock()
	var lines strings.Builder
	for _, c := range checks {
		if err := c.fn(); err != nil {
			problem := strings.ReplaceAll(err.Error(), "\n", "; ")
			lines.WriteString(c.name + ": " + problem + "\n")
		}
	}
	return lines.String()
}
