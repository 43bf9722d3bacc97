package counter

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func TestStatus(t *testing.T) {
	inBubble(t, 1, Options{}, func(t *testing.T, b *bench) {
		start := time.Now()
		want := func(what string, want LaneStatus) {
			t.Helper()
			got := b.Status(time.Now())
			if diff := cmp.Diff([]LaneStatus{want}, got.Lanes); diff != "" {
				t.Errorf("%s (-want +got):\n%s", what, diff)
			}
		}
		want("idle", LaneStatus{})
		b.store.refuse = func(n int, _ *batch) error {
			if n == 1 {
				return status.Error(codes.Aborted, "contended")
			}
			return nil
		}
		b.add("a", "b", "c")
		want("one in work", LaneStatus{Pending: 2, InWork: 1})
		time.Sleep(b.store.latency + time.Millisecond)
		synctest.Wait()
		want("slowed down", LaneStatus{Pending: 2, InWork: 1, Pace: paceFirst})
		b.wg.Wait()
		took := time.Since(start)
		time.Sleep(2 * time.Second)
		want("done", LaneStatus{Groups: 2, Orders: 3, LastCommit: start.Add(took),
			Pace: paceFirst + 2*paceStep})
		s := b.Status(time.Now())
		if s.Groups != 2 || s.Orders != 3 || s.Groups10s != .2 || s.Orders1m != 1.5 {
			t.Errorf("%d groups of %d orders; %v a second of %v", s.Groups, s.Orders, s.Groups10s, s.Orders1m)
		}
	})
}
