package counter

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/atlasmart/ordertally/internal/emulator/emulatortest"
)

func TestPace(t *testing.T) {
	var p pace
	p.succeeded()
	if p.rate != 0 {
		t.Errorf("a success limits the rate to %v", p.rate)
	}
	for _, want := range []float64{32, 16, 8, 4, 2, 1, 0.5, 0.5} {
		if p.contended(); p.rate != want {
			t.Errorf("rate %v after contention, want %v", p.rate, want)
		}
	}
	for i := range 63 {
		if p.succeeded(); p.rate != 0.5+float64(i+1) {
			t.Fatalf("rate %v after %d successes", p.rate, i+1)
		}
	}
	if p.succeeded(); p.rate != 0 {
		t.Errorf("rate %v after 64 successes, want no limit", p.rate)
	}
}

// TestALaneSlowsDownAndRecovers counts the commits of a busy lane second by second.
func TestALaneSlowsDownAndRecovers(t *testing.T) {
	for _, code := range []codes.Code{codes.Aborted, codes.ResourceExhausted} {
		t.Run(code.String(), func(t *testing.T) {
			inBubble(t, 1, Options{GroupMax: 1}, func(t *testing.T, b *bench) {
				contended := true
				b.store.refuse = func(int, *batch) error {
					if contended {
						return status.Error(code, "")
					}
					return nil
				}
				for i := range 2000 {
					b.wg.Go(func() { _, _ = b.Add(context.Background(), order(fmt.Sprint(i))) })
				}
				commits := func() int {
					b.store.mu.Lock()
					defer b.store.mu.Unlock()
					return len(b.store.commits)
				}
				time.Sleep(30 * time.Second)
				synctest.Wait()
				before := commits()
				b.store.mu.Lock()
				contended = false
				b.store.mu.Unlock()
				time.Sleep(7 * time.Second) // up to one long backoff, and the first slow commits
				synctest.Wait()
				slow := commits() - before
				time.Sleep(10 * time.Second)
				synctest.Wait()
				all := commits() - before
				if slow > 300 || all-slow < 500 {
					t.Errorf("%d commits in the first 7 s and %d in the 10 s after, want few "+
						"and then about 100 a second", slow, all-slow)
				}
				b.wg.Wait()
				b.counts(t, 2000)
			})
		})
	}
}

func TestRampLimit(t *testing.T) {
	for _, tt := range []struct {
		age  time.Duration
		want float64
	}{{0, 500}, {5*time.Minute - 1, 500}, {5 * time.Minute, 750}, {10 * time.Minute, 1125},
		{time.Hour, 64873.16894531250}, {-time.Minute, 500}} {
		if got := float64(rampLimit(tt.age)); got != tt.want {
			t.Errorf("after %v: %v a second, want %v", tt.age, got, tt.want)
		}
	}
}

// TestRamp lets a lane run as fast as it can under a ramp, in simulated time.
func TestRamp(t *testing.T) {
	inBubble(t, 2, Options{GroupMax: 100, Ramp: NewRamp(time.Time{})},
		func(t *testing.T, b *bench) {
			stop := make(chan struct{})
			for i := range 400 { // callers that always have one more order
				b.wg.Go(func() {
					for n := 0; ; n++ {
						select {
						case <-stop:
							return
						default:
							_, _ = b.Add(context.Background(), order(fmt.Sprint(i, "-", n)))
						}
					}
				})
			}
			counted := func(d time.Duration) float64 {
				before, _ := b.store.total()
				time.Sleep(d)
				after, _ := b.store.total()
				return float64(after-before) / d.Seconds()
			}
			counted(10 * time.Second) // the burst that a full bucket allows
			if got := counted(20 * time.Second); got < 480 || got > 520 {
				t.Errorf("%.0f orders a second at first, want 500", got)
			}
			time.Sleep(5 * time.Minute)
			if got := counted(20 * time.Second); got < 720 || got > 780 {
				t.Errorf("%.0f orders a second after five minutes, want 750", got)
			}
			close(stop)
			b.wg.Wait()
		})
}

func TestRampEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRamp(time.Now().Add(-rampEnd))
		start := time.Now()
		for range 10_000 {
			if err := r.wait(t.Context(), MaxGroup); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("an ended ramp waited %v", took)
		}
	})
}

func TestRampOf(t *testing.T) {
	now := noon
	for _, tt := range []struct {
		name        string
		first, last time.Duration // ago
		want        *time.Time    // nil: no ramp
	}{
		{"in the middle of it", 10 * time.Minute, time.Second, ago(now, 10*time.Minute)},
		{"after it", 91 * time.Minute, time.Second, nil},
		{"an old and busy counter", 90 * 24 * time.Hour, time.Minute, nil},
		{"a night without orders", 90 * 24 * time.Hour, 23 * time.Hour, nil},
		{"long idle", 90 * 24 * time.Hour, 25 * time.Hour, &time.Time{}},
	} {
		r := rampOf(now.Add(-tt.first), now.Add(-tt.last), now)
		if (r == nil) != (tt.want == nil) || r != nil && !r.start.Equal(*tt.want) {
			t.Errorf("%s: %+v, want a start at %v", tt.name, r, tt.want)
		}
	}
}

func ago(now time.Time, d time.Duration) *time.Time {
	t := now.Add(-d)
	return &t
}

func TestFindRamp(t *testing.T) {
	t.Parallel()
	client := emulatortest.New(t).Firestore()
	def := define(t, client, "orders", 2)
	r, err := FindRamp(t.Context(), client, "orders")
	if err != nil || r == nil || !r.start.IsZero() {
		t.Errorf("of a new counter: %+v, %v, want one from the first order", r, err)
	}
	c, err := New(client, "orders", def, Options{GroupMax: 10, MarkerTTL: time.Hour, Ramp: r})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Add(t.Context(), order("a")); err != nil {
		t.Fatal(err)
	}
	again, err := FindRamp(t.Context(), client, "orders")
	if err != nil || again == nil || again.start.IsZero() {
		t.Errorf("after the first order: %+v, %v, want the rest of the ramp", again, err)
	}
}
