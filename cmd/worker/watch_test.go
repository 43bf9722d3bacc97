package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/atlasmart/ordertally/internal/telemetry/telemetrytest"
)

// wantPage wants the page to show what happened, the settings, and no order.
func wantPage(t *testing.T, page, project string) {
	t.Helper()
	for _, want := range []string{`<b class="good">live</b>`, `<b class="good">ready</b>`,
		`<dt>messages in hand</dt><dd>0</dd>`, `orders-today, 10 shards, UTC`,
		`<th scope="row">counted</th>`, `<td>200</td></tr>`, // the messages counted since the start
		`<th scope="row">9</th><td>0</td><td>0</td>`,   // the last lane
		`message dead-lettered`, `reason: orderId is `, // of two, the last
		`<dt>WORKER_SUBSCRIPTION</dt><dd>orders-worker</dd>`,
		`<dt>GOOGLE_CLOUD_PROJECT</dt><dd>` + project + `</dd>`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %s", want)
		}
	}
	if strings.Contains(page, "ord-") || strings.Contains(page, "1.5}") || t.Failed() {
		t.Errorf("the page shows an order, or lacks something:\n%s", page)
	}
}

// TestOpenTelemetry sends what a worker does to a receiver, and wants the span of each commit to
// link the spans of its messages.
func TestOpenTelemetry(t *testing.T) {
	s := newSite(t)
	receiver, url := telemetrytest.Serve(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
	t.Setenv("OTEL_TRACES_EXPORTER", "otlp")
	t.Cleanup(func() { otel.SetTracerProvider(noop.NewTracerProvider()) })
	stop := work(t)
	const orders = 20
	for i := range orders {
		s.Publish(s.topic, fmt.Appendf(nil, `{"orderId":"ord-%d"}`, i))
	}
	eventually(t, "every order is counted", func() bool { return s.audit(t).Count == orders })
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	messages := map[string]bool{}
	for _, span := range receiver.Spans("orders-worker process") {
		messages[string(span.TraceId)+string(span.SpanId)] = true
	}
	linked := map[string]bool{}
	for _, span := range receiver.Spans("ordertally commit group") {
		for _, l := range span.Links {
			linked[string(l.TraceId)+string(l.SpanId)] = true
		}
	}
	if diff := cmp.Diff(messages, linked); diff != "" || len(linked) != orders {
		t.Errorf("%d messages linked, want %d; messages against links (-want +got):\n%s",
			len(linked), orders, diff)
	}
	var counted int64
	for _, p := range receiver.Metric("ordertally_messages").GetSum().GetDataPoints() {
		if p.Attributes[0].Value.GetStringValue() == "counted" {
			counted = p.GetAsInt()
		}
	}
	if counted != orders || receiver.Service() != "ordertally-worker" {
		t.Errorf("%d messages counted by %q", counted, receiver.Service())
	}
}
