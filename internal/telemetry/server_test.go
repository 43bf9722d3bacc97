package telemetry

import (
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// get leaves no connection behind.
func get(url string) (string, error) {
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get(url)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp.Status + " " + string(body), err
}

func serve(t *testing.T, handler http.Handler) *Server {
	t.Helper()
	s, err := Serve(t.Context(), "127.0.0.1:0", "WORKER_LISTEN", handler)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// page stands for what a program shows of itself.
var page = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
	_, _ = io.WriteString(w, "counting")
})

func TestServe(t *testing.T) {
	s := serve(t, Handler(new(Health), newMetrics(t), page))
	for path, want := range map[string]string{"/livez": "200 OK ok\n", "/readyz": "200 OK ok\n",
		"/metrics": "200 OK # HELP", "/statusz": "200 OK counting", "/": "404 Not Found"} {
		got, err := get("http://" + s.Addr() + path)
		if err != nil || !strings.HasPrefix(got, want) {
			t.Errorf("GET %s = %q, %v, want %q", path, got, err, want)
		}
	}
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Errorf("closing twice: %v", err)
	}
	select {
	case <-s.done:
	default:
		t.Error("Close did not wait for the goroutine")
	}
	if _, err := get("http://" + s.Addr() + "/livez"); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("after Close: %v, want a refused connection", err)
	}
}

func TestServe_portTaken(t *testing.T) {
	taken := serve(t, http.NotFoundHandler()).Addr()
	s, err := Serve(t.Context(), taken, "WORKER_LISTEN", http.NotFoundHandler())
	want := "listening on " + taken + " (WORKER_LISTEN): "
	if !errors.Is(err, syscall.EADDRINUSE) || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("Serve = %v, want %s…", err, want)
	}
	if s != nil {
		t.Error("there is a server beside the error")
	}
}

func TestServe_none(t *testing.T) {
	s, err := Serve(t.Context(), "", "WORKER_LISTEN", http.NotFoundHandler())
	if s != nil || err != nil {
		t.Fatalf("Serve = %v, %v, want no server", s, err)
	}
	if s.Addr() != "" || s.Close() != nil {
		t.Error("a nil server is not silent")
	}
}

// TestServer_closeIsBounded has a request that ends only when it is cut off.
func TestServer_closeIsBounded(t *testing.T) {
	entered := make(chan struct{})
	s := serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(entered)
		<-r.Context().Done()
	}))
	s.patience = time.Millisecond
	answered := make(chan error, 1)
	go func() {
		_, err := get("http://" + s.Addr())
		answered <- err
	}()
	<-entered
	if err := s.Close(); err != nil {
		t.Errorf("Close = %v", err)
	}
	if err := <-answered; err == nil {
		t.Error("the request was answered, want it cut off")
	}
}

// TestServer_closeLetsRequestsFinish closes the server while a request is in work.
func TestServer_closeLetsRequestsFinish(t *testing.T) {
	entered, stopping := make(chan struct{}), make(chan struct{})
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(entered)
		<-stopping
		_, _ = io.WriteString(w, "done")
	}))
	s.patience = time.Minute
	s.http.RegisterOnShutdown(sync.OnceFunc(func() { close(stopping) }))
	answered := make(chan string, 1)
	go func() {
		got, _ := get("http://" + s.Addr())
		answered <- got
	}()
	<-entered
	if err := s.Close(); err != nil {
		t.Errorf("Close = %v", err)
	}
	if got := <-answered; got != "200 OK done" {
		t.Errorf("answer = %q", got)
	}
}

func TestServer_closeTellsWhyItStopped(t *testing.T) {
	s := serve(t, http.NotFoundHandler())
	_ = s.listener.Close()
	<-s.done
	if err := s.Close(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Close = %v, want %v", err, net.ErrClosed)
	}
}

func TestCheckAddr(t *testing.T) {
	for addr, ok := range map[string]bool{
		"": true, ":8080": true, ":0": true, "127.0.0.1:8080": true, "[::1]:65535": true,
		"8080": false, ":": false, ":http": false, ":65536": false, ":-1": false, "::1:80": false,
	} {
		if err := CheckAddr(addr); (err == nil) != ok {
			t.Errorf("CheckAddr(%q) = %v", addr, err)
		}
	}
}
