package counter

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

func (l *ledger) cleanup(olderThan time.Duration) *Cleanup {
	l.t.Helper()
	c, err := NewCleanup(l.t.Context(), l.client, "orders", olderThan)
	if err != nil {
		l.t.Fatal(err)
	}
	return c
}

func TestCleanup(t *testing.T) {
	t.Parallel()
	l := newLedger(t, time.Hour)
	var expired []string
	for i := range cleanupBatch + 40 { // more than one batch
		expired = append(expired, fmt.Sprint("old-", i))
	}
	l.order(0, 26*time.Hour, expired...)
	l.order(1, 26*time.Hour, "c", "d")
	if _, err := NewCleanup(t.Context(), l.client, "orders", time.Hour); !errors.Is(err,
		ErrNothingSealed) {
		t.Errorf("before an audit: %v", err)
	}
	l.seal(l.audit(), "")
	l.order(1, 26*time.Hour, "unsealed")
	two := [2]*Cleanup{l.cleanup(time.Nanosecond), l.cleanup(time.Nanosecond)}
	var wg sync.WaitGroup
	for _, c := range two { // at once
		wg.Go(func() {
			if err := c.Run(t.Context(), func(int) {}); err != nil {
				t.Errorf("a cleanup beside another: %v", err)
			}
		})
	}
	wg.Wait()
	if n := two[0].Deleted + two[1].Deleted; n != int64(len(expired)+2) {
		t.Errorf("deleted %d markers, want %d", n, len(expired)+2)
	}
	a := l.audit()
	n := int64(len(expired)) + 3
	l.want("after it", a, true, n, n, 0, n-1, 0, 0)
	if a.Present != 1 {
		t.Errorf("%d markers are left, want the one that is not sealed", a.Present)
	}
}

func TestCleanupRefusesWhatMayComeAgain(t *testing.T) {
	t.Parallel()
	l := newLedger(t, time.Hour)
	l.order(0, 26*time.Hour, "expired")
	l.order(0, 10*time.Minute, "alive")
	l.seal(l.audit(), "")
	_, err := NewCleanup(t.Context(), l.client, "orders", time.Nanosecond)
	if !errors.Is(err, ErrUnsafe) || !strings.Contains(err.Error(), " of shard 0 lives until ") ||
		!strings.HasSuffix(err.Error(), "want 1h0m0s or more") {
		t.Errorf("%v, want ErrUnsafe with the marker and the age that is safe", err)
	}
	l.order(0, 26*time.Hour, "newest of the shard, and expired")
	l.seal(l.audit(), "")
	c := l.cleanup(time.Nanosecond)
	shards := 0
	if err := c.Run(t.Context(), func(int) { shards++ }); err != nil {
		t.Fatal(err)
	}
	if c.Deleted != 2 || c.Kept != 1 || shards != 1 {
		t.Errorf("%+v in %d batches, want two deleted and the living one kept", c, shards)
	}
}
