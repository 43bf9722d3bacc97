package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/atlasmart/ordertally/internal/emulator/emulatortest"
)

// A gate stands between the publisher and the emulator: it counts what the emulator took, and
// before each request after the first calls before, whose error is the answer.
type gate struct {
	before   func() error
	requests atomic.Int64
	took     atomic.Int64
}

func (g *gate) intercept(ctx context.Context, method string, req, reply any,
	conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	r, ok := req.(*pubsubpb.PublishRequest)
	if ok && g.requests.Add(1) > 1 {
		if err := g.before(); err != nil {
			return err
		}
	}
	err := invoke(ctx, method, req, reply, conn, opts...)
	if ok && err == nil {
		g.took.Add(int64(len(r.Messages)))
	}
	return err
}

// publishThrough publishes n messages, slowly enough for many requests.
func publishThrough(t *testing.T, ctx context.Context, g *gate, n int) error {
	t.Helper()
	env := emulatortest.New(t)
	client := env.PubSub(grpc.WithUnaryInterceptor(g.intercept))
	c := &config{topic: env.Topic("orders"), rate: 400}
	var last int64
	return publish(ctx, client, c, [][]byte{[]byte(`{"orderId":"1"}`)}, make([]int, n),
		func(taken int64) {
			if taken != last+1 {
				t.Errorf("%d messages taken after %d", taken, last)
			}
			last = taken
		})
}

// TestPublishError: the number in the error is what Pub/Sub took, and nothing is sent after it.
func TestPublishError(t *testing.T) {
	t.Parallel()
	g := &gate{before: func() error { return status.Error(codes.PermissionDenied, "not you") }}
	err := publishThrough(t, t.Context(), g, 4000)
	want := fmt.Sprintf("not you, after %d of 4000 messages", g.took.Load())
	if err == nil || !strings.HasSuffix(err.Error(), want) || status.Code(errors.Unwrap(err)) !=
		codes.PermissionDenied {
		t.Errorf("%v, want an error that ends in %q", err, want)
	}
	if n := g.requests.Load(); n > 20 {
		t.Errorf("%d requests, want an end soon after the first error", n)
	}
}

// TestPublishInterrupted: what is on its way at Ctrl-C is waited for and reported.
func TestPublishInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	g := &gate{before: func() error { cancel(); return nil }}
	err := publishThrough(t, ctx, g, 4000)
	took := g.took.Load()
	want := fmt.Sprintf("context canceled, after %d of 4000 messages", took)
	if !errors.Is(err, context.Canceled) || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("%v, want an error that ends in %q", err, want)
	}
	if g.requests.Load() < 2 || took == 0 {
		t.Errorf("%d requests with %d messages, want an interrupt with one on its way",
			g.requests.Load(), took)
	}
}

// TestPublishLongest publishes the longest line that the reader lets pass.
func TestPublishLongest(t *testing.T) {
	t.Parallel()
	env := emulatortest.New(t)
	topic := env.Topic("t" + strings.Repeat("x", 200))
	err := publish(t.Context(), env.PubSub(), &config{topic: topic},
		[][]byte{make([]byte, maxLine)}, []int{0}, func(int64) {})
	if err != nil {
		t.Error(err)
	}
}

func TestLimiter(t *testing.T) {
	start := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		rate      float64
		low, high int // messages in the first ten seconds
	}{{500, 5000, 5063}, {0.5, 5, 6}, {0, 10_000, 10_000}} {
		l, n := newLimiter(tt.rate), 0
		for ms := range 10_000 {
			if l.AllowN(start.Add(time.Duration(ms)*time.Millisecond), 1) {
				n++
			}
		}
		if n < tt.low || n > tt.high {
			t.Errorf("-rate %v: %d messages in 10 s, want %d to %d", tt.rate, n, tt.low, tt.high)
		}
	}
}
