package telemetry

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"
)

const (
	// closeTimeout is how long Close waits for a scrape: no more than a shutdown can spare.
	closeTimeout = time.Second

	headerTimeout = 5 * time.Second
	writeTimeout  = 30 * time.Second
	idleTimeout   = 2 * time.Minute
)

// Handler serves /livez, /readyz, /metrics and /statusz.
func Handler(h *Health, m *Metrics, status http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", h.report(&h.live))
	mux.HandleFunc("GET /readyz", h.report(&h.ready))
	mux.Handle("GET /metrics", m.Handler())
	mux.Handle("GET /statusz", status)
	return mux
}

// A Server is an HTTP server that runs until Close. A nil Server serves nothing, and its methods
// may be called.
type Server struct {
	listener net.Listener
	http     *http.Server
	patience time.Duration
	done     chan struct{} // Closed when the serving goroutine has ended.
	err      error         // Why it ended, unless by Close; to be read when done is closed.
}

// Serve listens on addr, so that a port that is taken is an error here, and serves handler until
// Close. The error names setting, the variable that addr came from. An empty addr means no server:
// the Server is nil. The ctx bounds the listening only, since probes and scrapes go on while a
// program drains.
func Serve(ctx context.Context, addr, setting string, handler http.Handler) (*Server, error) {
	if addr == "" {
		return nil, nil
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listening on %s (%s): %w", addr, setting, err)
	}
	s := &Server{listener: listener, patience: closeTimeout, done: make(chan struct{}),
		http: &http.Server{Handler: handler, ReadHeaderTimeout: headerTimeout,
			WriteTimeout: writeTimeout, IdleTimeout: idleTimeout}}
	go s.serve()
	return s, nil
}

func (s *Server) serve() {
	defer close(s.done)
	if err := s.http.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		s.err = fmt.Errorf("serving on %s: %w", s.Addr(), err)
	}
}

// Addr returns the address that the server is bound to, or "".
func (s *Server) Addr() string {
	if s == nil {
		return ""
	}
	return s.listener.Addr().String()
}

// Close lets the requests in work finish, cuts off those that take more than a second, and
// returns when the server's goroutine has ended. Its error is that of a server which had stopped
// by itself.
func (s *Server) Close() error {
	if s == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.patience)
	defer cancel()
	if s.http.Shutdown(ctx) != nil {
		_ = s.http.Close() // The listener is closed already; the rest has no error to give.
	}
	<-s.done
	return s.err
}

// CheckAddr refuses an address that can never be listened on. An empty one means no server.
func CheckAddr(addr string) error {
	if addr == "" {
		return nil
	}
	_, port, err := net.SplitHostPort(addr)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return fmt.Errorf("%q is not an address like :8080 or 127.0.0.1:8080", addr)
	}
	return nil
}
