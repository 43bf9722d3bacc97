package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/atlasmart/ordertally/internal/counter"
	"github.com/atlasmart/ordertally/internal/rollup"
)

// A memo is a log that can be looked into.
type memo struct {
	lines lines

	mu   sync.Mutex
	text bytes.Buffer
}

func (m *memo) Write(p []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.text.Write(p)
	return m.lines.Write(p)
}

func (m *memo) has(s string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return strings.Contains(m.text.String(), s)
}

// TestReshard changes the number of shards of a running worker while orders and their copies
// flow, rolls up all the while, and folds before the worker has followed, and after.
func TestReshard(t *testing.T) {
	s := newSite(t)
	logs := &memo{lines: lines{t}}
	stop := workOn(t, deps{logs: logs, follow: 200 * time.Millisecond})
	eventually(t, "the worker counts", func() bool { return logs.has(`"message":"counting"`) })
	orders := 0
	deliver := func() { // ten new orders, and ten copies of any
		var bodies [][]byte
		for range 10 {
			bodies = append(bodies, fmt.Appendf(nil, `{"orderId":"ord-%d"}`, orders),
				fmt.Appendf(nil, `{"orderId":"ord-%d"}`, rand.IntN(orders+1)))
			orders++
		}
		s.Publish(s.topic, bodies...)
	}
	settle := s.rollUp(t)
	for range 5 {
		deliver()
	}
	from := 10
	for _, to := range []int{3, 17, 1} {
		was, err := counter.Reshard(t.Context(), s.Firestore(), "orders-today", to, "me")
		if was != from || err != nil {
			t.Fatalf("from %d to %d: from %d, %v", from, to, was, err)
		}
		s.fold(t)
		eventually(t, fmt.Sprintf("the worker follows to %d shards", to), func() bool {
			deliver()
			return logs.has(fmt.Sprintf(`"from":%d,"to":%d`, from, to))
		})
		deliver()
		from = to
	}
	eventually(t, "every order is counted", func() bool { return s.audit(t).Count == int64(orders) })
	s.fold(t)
	if err := stop(); err != nil {
		t.Error(err)
	}
	if err := settle(); err != nil {
		t.Error(err)
	}
	r, err := counter.Read(t.Context(), s.Firestore(), "orders-today")
	if err != nil || r.Total() != int64(orders) || r.Rollup.Total != int64(orders) ||
		len(r.Shards) != 1 {
		t.Fatalf("%+v, %v, want %d orders in one shard", r, err, orders)
	}
	if a := s.audit(t); a.Markers != int64(orders) || a.Drift != 0 {
		t.Errorf("audit: %d markers and drift %d, want %d and none", a.Markers, a.Drift, orders)
	}
}

func (s *site) fold(t *testing.T) {
	t.Helper()
	if _, err := counter.Fold(t.Context(), s.Firestore(), "orders-today", "me"); err != nil {
		t.Fatal(err)
	}
}

// rollUp rolls up again and again until the returned settle is called, which does so once more. A
// total that goes back is an error.
func (s *site) rollUp(t *testing.T) (settle func() error) {
	t.Helper()
	job, err := rollup.New(s.Firestore(), "orders-today", zap.NewNop(), nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		var last int64
		var problems []error
		for more := true; more; {
			more = ctx.Err() == nil
			res, err := job.RunOnce(t.Context(), time.Now())
			if err != nil || res.Total < last {
				problems = append(problems, fmt.Errorf("rolled up %d after %d: %w", res.Total, last, err))
			}
			last = res.Total
		}
		done <- errors.Join(problems...)
	}()
	return func() error { stop(); return <-done }
}
