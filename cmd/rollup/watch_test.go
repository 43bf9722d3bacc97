package main

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/atlasmart/ordertally/internal/telemetry/telemetrytest"
)

// wantShown wants a rollup to tell of itself what there is to tell, once it has audited too.
func wantShown(t *testing.T, ctx context.Context, addr string) {
	t.Helper()
	var metrics string
	for !strings.Contains(metrics, "\nordertally_audit_drift_orders 0\n") {
		if ctx.Err() != nil {
			t.Fatalf("no audit in:\n%s", metrics)
		}
		time.Sleep(20 * time.Millisecond)
		metrics = get(t, addr, "/metrics")
	}
	telemetrytest.Golden(t, metrics, "testdata/metrics.txt")
	page := get(t, addr, "/statusz")
	for _, want := range []string{`<b class="good">live</b>`, `<b class="good">ready</b>`,
		"<dt>total</dt><dd>5, as of ", "<dt>last audit</dt><dd>5 markers, and the shards sum to 5, at ",
		"<dt>ROLLUP_EVERY</dt><dd>1s</dd>", "0 of them failed"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in the page:\n%s", want, page)
		}
	}
	if got := get(t, addr, "/livez"); got != "ok\n" {
		t.Errorf("/livez: %s", got)
	}
}

func get(t *testing.T, addr, path string) string {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Get("http://" + addr + path)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}
