package consume

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/atlasmart/ordertally/internal/counter"
)

// FuzzDecode wants of any message: what decodes obeys the laws of an order, and encodes back to
// the same identity and time; what does not says why, in words that give no order id away.
func FuzzDecode(f *testing.F) {
	text, err := os.ReadFile("testdata/messages.txt")
	if err != nil {
		f.Fatal(err)
	}
	for block := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n\n") {
		if strings.HasPrefix(block, "#") {
			continue
		}
		c, err := parseGolden(block)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(c.body, c.attrs["content-type"], c.attrs["ce-type"], c.attrs["ce-time"])
	}
	f.Add([]byte(`{"orderId":"ord-0123456789abcdef-\ud83d-0123456789abcdef"}`), "", "", "")
	f.Add([]byte(`{"orderId":"`+strings.Repeat("0123456789abcdef", 33)+`"}`), "", "", "")
	f.Fuzz(func(t *testing.T, body []byte, contentType, ceType, ceTime string) {
		attrs := map[string]string{}
		for name, value := range map[string]string{
			"content-type": contentType, "ce-type": ceType, "ce-time": ceTime,
		} {
			if value != "" {
				attrs[name] = value
			}
		}
		o, err := decode(t, body, attrs)
		if bad, ok := errors.AsType[*InvalidError](err); ok {
			checkDiscreet(t, bad.Reason, body)
		}
		if err == nil {
			checkRoundTrip(t, o)
		}
	})
}

// checkRoundTrip encodes an order as another program would, and wants it back.
func checkRoundTrip(t *testing.T, o counter.Order) {
	t.Helper()
	body, err := json.Marshal(map[string]string{"orderId": o.ID, "source": o.Source,
		"acceptedAt": o.AcceptedAt.Format(time.RFC3339Nano)})
	if err != nil {
		t.Fatal(err)
	}
	back, err := decode(t, body, nil)
	if err != nil {
		t.Fatalf("%+v, encoded to %s: %v", o, body, err)
	}
	if back.Event("c") != o.Event("c") || !back.AcceptedAt.Equal(o.AcceptedAt) {
		t.Errorf("%+v, encoded to %s, decodes to %+v", o, body, back)
	}
}

// checkDiscreet fails when 16 bytes or more of an order id in the body, as far as a lax reader
// finds one, are in the reason.
func checkDiscreet(t *testing.T, reason string, body []byte) {
	t.Helper()
	const piece = 16
	for _, id := range idsIn(body) {
		for i := 0; i+piece <= len(id); i++ {
			if strings.Contains(reason, id[i:i+piece]) {
				t.Errorf("reason %q gives away %q of id %q", reason, id[i:i+piece], id)
			}
		}
	}
}

// idsIn returns the order ids of a body and of an event's data, both as they stand and unquoted.
func idsIn(body []byte) (ids []string) {
	var members map[string]json.RawMessage
	if json.Unmarshal(body, &members) != nil {
		return nil
	}
	if id, ok := members["orderId"]; ok {
		var s string
		if json.Unmarshal(id, &s) == nil {
			ids = append(ids, s)
		}
		ids = append(ids, string(id))
	}
	return append(ids, idsIn(members["data"])...)
}

// FuzzIdentity looks for two orders with one identity, where one text is cut into a counter, a
// source and an id in two ways. The identity is counter's; its law is kept by what this package
// lets through.
func FuzzIdentity(f *testing.F) {
	f.Add("orders-todayORDER_ACCEPTEDerpord-1", uint(12), uint(29), uint(26), uint(29))
	f.Add("orders-todayORDER_ACCEPTEDord-1", uint(12), uint(12), uint(12), uint(26))
	f.Add("orders-todayORDER_ACCEPTEDord-1", uint(12), uint(26), uint(26), uint(26))
	f.Add("aabb", uint(1), uint(2), uint(2), uint(3))
	f.Add("ordersüid", uint(6), uint(8), uint(6), uint(6))
	f.Add("a\x00ORDER_ACCEPTED\x00b\x00c", uint(1), uint(16), uint(16), uint(18))
	f.Fuzz(func(t *testing.T, text string, a, b, c, d uint) {
		one, ok := cut(text, a, b)
		if !ok {
			return
		}
		other, ok := cut(text, c, d)
		if !ok || one == other {
			return
		}
		if one.event() == other.event() {
			t.Errorf("%q and %q are one event", one, other)
		}
	})
}

// A triple is what an identity is made of.
type triple struct{ counter, source, id string }

func (t triple) event() counter.EventID {
	return counter.Order{Source: t.source, ID: t.id}.Event(t.counter)
}

// cut cuts text at two places, and reports whether the parts are legal values.
func cut(text string, i, j uint) (triple, bool) {
	n := uint(len(text)) + 1
	i, j = min(i%n, j%n), max(i%n, j%n)
	t := triple{text[:i], text[i:j], text[j:]}
	return t, counter.CheckName(t.counter) == nil && legalID(t.id) &&
		(t.source == "" || legalID(t.source))
}
