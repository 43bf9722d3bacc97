package rollup

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.uber.org/zap/zaptest"

	"github.com/atlasmart/ordertally/internal/counter"
	"github.com/atlasmart/ordertally/internal/emulator/emulatortest"
)

func TestDriftOf(t *testing.T) {
	shard, day := counter.AuditShard{Drift: 2}, counter.AuditDay{Drift: -5}
	for _, tt := range []struct {
		name   string
		report counter.AuditReport
		want   int64
	}{
		{"none", counter.AuditReport{OK: true, Shards: []counter.AuditShard{{}}}, 0},
		{"too few in the whole", counter.AuditReport{Drift: -3}, 3},
		{"that cancels out", counter.AuditReport{Shards: []counter.AuditShard{shard, {Drift: -2}}}, 4},
		{"of a day", counter.AuditReport{Drift: 1, Shards: []counter.AuditShard{shard},
			Days: []counter.AuditDay{day}}, 5},
	} {
		if got := driftOf(&tt.report); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
}

// TestAuditor_Run lets an audit find nothing, fail, and find a drift.
func TestAuditor_Run(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reader := sdkmetric.NewManualReader()
		a, err := NewAuditor(nil, "orders", zaptest.NewLogger(t),
			sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)).Meter("test"))
		if err != nil {
			t.Fatal(err)
		}
		reports := []*counter.AuditReport{nil, {OK: true}, nil, {Drift: 7}}
		a.audit = func(context.Context) (*counter.AuditReport, error) {
			r := reports[0]
			if reports = reports[1:]; r == nil {
				return nil, errors.New("away")
			}
			return r, nil
		}
		start := time.Now()
		want := func(drift int64, success time.Time) {
			t.Helper()
			gotDrift := gauge[int64](t, reader, "ordertally_audit_drift_orders")
			got := gauge[float64](t, reader, "ordertally_audit_last_success_timestamp")
			if gotDrift != drift || got != float64(success.Unix()) {
				t.Errorf("drift %d at %v, want %d at %v", gotDrift, got, drift, success.Unix())
			}
		}
		ctx, stop := context.WithCancel(t.Context())
		var loop sync.WaitGroup
		loop.Go(func() { a.Run(ctx, time.Hour) })
		synctest.Wait()
		if got := gauge[float64](t, reader, "ordertally_audit_last_success_timestamp"); got != 0 {
			t.Errorf("before a success: %v, want 0", got)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		want(0, start.Add(time.Hour))
		time.Sleep(time.Hour)
		synctest.Wait()
		want(0, start.Add(time.Hour)) // the failure says nothing
		time.Sleep(time.Hour)
		synctest.Wait()
		want(7, start.Add(3*time.Hour))
		if a.Last().Drift != 7 {
			t.Errorf("last report %+v", a.Last())
		}
		stop()
		loop.Wait()
	})
}

// TestAuditor_seals wants an audit to keep what it verified, but for the youngest orders.
func TestAuditor_seals(t *testing.T) {
	t.Parallel()
	client := emulatortest.New(t).Firestore()
	if _, _, err := counter.Define(t.Context(), client, "orders",
		counter.Definition{Shards: 1, Location: time.UTC}); err != nil {
		t.Fatal(err)
	}
	created := time.Now().Add(-time.Hour)
	day := created.UTC().Format(time.DateOnly)
	for path, data := range map[string]map[string]any{
		"counters/orders/shards/0": {"count": 1, "days": map[string]any{day: 1}},
		"counterEvents/a": {"counter": "orders", "shard": 0, "day": day, "createdAt": created,
			"acceptedAt": created, "expireAt": created.Add(840 * time.Hour)},
	} {
		if _, err := client.Doc(path).Set(t.Context(), data); err != nil {
			t.Fatal(err)
		}
	}
	a, err := NewAuditor(client, "orders", zaptest.NewLogger(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, sealed := range []int64{0, 1} {
		a.tick(t.Context(), time.Now())
		if r := a.Last(); r == nil || !r.OK || r.Markers != 1 || r.Sealed != sealed {
			t.Errorf("%+v, want one order, and %d sealed before", r, sealed)
		}
	}
}

func gauge[N int64 | float64](t *testing.T, r sdkmetric.Reader, name string) N {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := r.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	for _, m := range all.ScopeMetrics[0].Metrics {
		if g, ok := m.Data.(metricdata.Gauge[N]); ok && m.Name == name {
			return g.DataPoints[0].Value
		}
	}
	t.Fatalf("no %s", name)
	return 0
}
