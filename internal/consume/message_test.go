package consume

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/atlasmart/ordertally/internal/counter"
)

var update = flag.Bool("update", false, "write the outcomes into testdata/messages.txt")

var (
	now       = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	published = now.Add(-time.Second)
)

// decode decodes a message by the default kinds and checks what holds for every message.
func decode(t *testing.T, body []byte, attrs map[string]string) (counter.Order, error) {
	t.Helper()
	m := Message{Data: body, Attributes: attrs, ID: "m-1", PublishTime: published}
	before := bytes.Clone(body)
	o, err := NewDecoder(DefaultKinds).Decode(m, now)
	if !bytes.Equal(body, before) {
		t.Errorf("decoding changed the body %q to %q", before, body)
	}
	if err != nil {
		checkError(t, o, err)
	} else {
		checkOrder(t, o)
	}
	return o, err
}

// checkOrder checks the laws of a counter.Order that came out of a message.
func checkOrder(t *testing.T, o counter.Order) {
	t.Helper()
	if !legalID(o.ID) || o.Source != "" && !legalID(o.Source) {
		t.Errorf("id %q and source %q, want 1 to 512 bytes of text", o.ID, o.Source)
	}
	epoch, latest := time.Unix(0, 0), now.Add(24*time.Hour)
	if o.AcceptedAt.Before(epoch) || o.AcceptedAt.After(latest) {
		t.Errorf("accepted at %v, want from 1970 to %v", o.AcceptedAt, latest)
	}
	if o.MessageID != "m-1" || !o.PublishedAt.Equal(published) {
		t.Errorf("from message %q of %v, want m-1 of %v", o.MessageID, o.PublishedAt, published)
	}
}

func legalID(id string) bool {
	return len(id) >= 1 && len(id) <= 512 && utf8.ValidString(id) &&
		!strings.Contains(id, "\x00") && strings.TrimSpace(id) != ""
}

// checkError checks that an error is one of the two that Decode promises, and fit for a log line
// and an attribute.
func checkError(t *testing.T, o counter.Order, err error) {
	t.Helper()
	if o != (counter.Order{}) {
		t.Errorf("an order came with the error %v: %+v", err, o)
	}
	if errors.Is(err, ErrIgnored) {
		return
	}
	bad, ok := errors.AsType[*InvalidError](err)
	if !ok {
		t.Fatalf("error %T: %v, want ErrIgnored or an *InvalidError", err, err)
	}
	if bad.Reason == "" || len(bad.Reason) > maxReason || !utf8.ValidString(bad.Reason) {
		t.Errorf("reason %q, want 1 to %d bytes of text", bad.Reason, maxReason)
	}
}

// outcome is what a message became, as testdata/messages.txt writes it.
func outcome(o counter.Order, err error) string {
	switch {
	case errors.Is(err, ErrIgnored):
		return "ignored"
	case err != nil:
		return err.Error()
	}
	at := o.AcceptedAt.UTC().Format(time.RFC3339Nano)
	if o.AcceptedAt.Equal(published) {
		at = "its publish time"
	}
	return fmt.Sprintf("order %q of source %q at %s", o.ID, o.Source, at)
}

// TestDecode_golden goes through the message table, row by row.
func TestDecode_golden(t *testing.T) {
	const file = "testdata/messages.txt"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(strings.TrimSpace(string(text)), "\n\n")
	for i, block := range blocks {
		if strings.HasPrefix(block, "#") {
			continue
		}
		c, err := parseGolden(block)
		if err != nil {
			t.Fatalf("%s: %v in\n%s", file, err, block)
		}
		t.Run(c.name, func(t *testing.T) {
			got := outcome(decode(t, c.body, c.attrs))
			if got != c.want && !*update {
				t.Errorf("body %q with attributes %q:\ngot  %s\nwant %s",
					c.body, c.attrs, got, c.want)
			}
			blocks[i] = strings.Join(append(c.message, "= "+got), "\n")
		})
	}
	if *update {
		if err := os.WriteFile(file, []byte(strings.Join(blocks, "\n\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

type golden struct {
	name    string
	attrs   map[string]string
	body    []byte
	want    string
	message []string // the lines before the outcome
}

func parseGolden(block string) (*golden, error) {
	lines := strings.Split(block, "\n")
	name, ok := strings.CutPrefix(lines[0], "-- ")
	if !ok {
		return nil, errors.New("no name")
	}
	c := &golden{name: name, attrs: map[string]string{}}
	n := 1
	for ; n < len(lines) && strings.HasPrefix(lines[n], "@"); n++ {
		key, value, _ := strings.Cut(lines[n][1:], "=")
		c.attrs[key] = value
	}
	if n == len(lines) {
		return nil, errors.New("no body")
	}
	body := lines[n]
	if quoted, ok := strings.CutPrefix(body, "go "); ok {
		var err error
		if body, err = strconv.Unquote(quoted); err != nil {
			return nil, fmt.Errorf("body %s: %w", quoted, err)
		}
	}
	c.body, c.message = []byte(body), lines[:n+1]
	if n+1 < len(lines) {
		c.want = strings.TrimPrefix(lines[n+1], "= ")
	}
	return c, nil
}

// TestDecode_sizes takes ids and sources to their longest, and a byte beyond.
func TestDecode_sizes(t *testing.T) {
	digits := strings.Repeat("1234567890", 52)
	const tooLong = "is 513 bytes long, want at most 512"
	tests := []struct {
		name, body string
		want       string // the id or the source, or the reason
	}{
		{"id of 512 bytes", `{"orderId":"` + strings.Repeat("x", 512) + `"}`,
			strings.Repeat("x", 512)},
		{"id of 513 bytes", `{"orderId":"` + strings.Repeat("x", 513) + `"}`, "orderId " + tooLong},
		{"id of 512 bytes in 256 letters", `{"orderId":"` + strings.Repeat("ü", 256) + `"}`,
			strings.Repeat("ü", 256)},
		{"id of 513 bytes in 257 letters", `{"orderId":"x` + strings.Repeat("ü", 256) + `"}`,
			"orderId " + tooLong},
		{"id of 512 bytes, each escaped", `{"orderId":"` + strings.Repeat(`\u0041`, 512) + `"}`,
			strings.Repeat("A", 512)},
		{"id of 512 spaces and a letter", `{"orderId":"` + strings.Repeat(" ", 512) + `x"}`,
			"orderId " + tooLong},
		{"integer of 100 digits", `{"orderId":` + digits[:100] + `}`, digits[:100]},
		{"integer of 512 digits", `{"orderId":` + digits[:512] + `}`, digits[:512]},
		{"integer of 513 digits", `{"orderId":` + digits[:513] + `}`, "orderId " + tooLong},
		{"source of 512 bytes", `{"orderId":"a","source":"` + strings.Repeat("x", 512) + `"}`,
			strings.Repeat("x", 512)},
		{"source of 513 bytes", `{"orderId":"a","source":"` + strings.Repeat("x", 513) + `"}`,
			"source " + tooLong},
		{"id of a megabyte", `{"orderId":"` + strings.Repeat("x", 1<<20) + `"}`,
			"orderId is 1048576 bytes long, want at most 512"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o, err := decode(t, []byte(tt.body), nil)
			got := o.ID
			if o.Source != "" {
				got = o.Source
			}
			if bad, ok := errors.AsType[*InvalidError](err); ok {
				got = bad.Reason
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// TestDecode_truncated cuts samples at every byte: a message that arrived in part never counts.
func TestDecode_truncated(t *testing.T) {
	tests := []struct {
		name, body string
		attrs      map[string]string
		ends       string
	}{
		{"plain", `{"orderId":"주문-\ud83d\udce6","kind":"order.accepted","source":null,` +
			`"acceptedAt":"2026-11-30T10:15:00Z","x":[1.5e3,true,{"y":"z"}]}`, nil,
			"invalid message: the body cannot be read: it ends in the middle"},
		{"structured", `{"type":"order.accepted","time":null,"data":{"orderId":42}}`,
			map[string]string{"content-type": "application/cloudevents+json"},
			"invalid message: the event cannot be read: it ends in the middle"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := decode(t, []byte(tt.body), tt.attrs); err != nil {
				t.Fatalf("the whole sample: %v", err)
			}
			for n := 1; n < len(tt.body); n++ {
				_, err := decode(t, []byte(tt.body[:n]), tt.attrs)
				if err == nil || err.Error() != tt.ends {
					t.Errorf("cut after %q: %v, want %s", tt.body[:n], err, tt.ends)
				}
			}
		})
	}
}

// TestDecode_unknownFields makes unknown fields deep and many. What a message may hold is up to
// Pub/Sub; only the depth has a limit, that of the reader.
func TestDecode_unknownFields(t *testing.T) {
	arrays := func(depth int) string {
		return `{"orderId":"a","x":` + strings.Repeat("[", depth) + strings.Repeat("]", depth) + `}`
	}
	objects := func(depth int) string {
		return `{"x":` + strings.Repeat(`{"orderId":`, depth) + "1" + strings.Repeat("}", depth) +
			`,"orderId":"a"}`
	}
	var many strings.Builder
	for i := 0; many.Len() < 1<<20; i++ {
		fmt.Fprintf(&many, `"field-%d":{"orderId":%d},`, i, i)
	}
	order := `order "a" of source "" at its publish time`
	tooDeep := func(at int) string {
		return fmt.Sprintf("invalid message: the body cannot be read: "+
			"it is not JSON: exceeded max depth at byte %d", at)
	}
	tests := []struct{ name, body, want string }{
		{"9,999 arrays", arrays(9_999), order},
		{"10,000 arrays", arrays(10_000), tooDeep(19 + 9_999)},
		{"100,000 arrays", arrays(100_000), tooDeep(19 + 9_999)},
		{"9,999 objects", objects(9_999), order},
		{"10,000 objects", objects(10_000), tooDeep(5 + 9_999*len(`{"orderId":`))},
		{"100,000 objects", objects(100_000), tooDeep(5 + 9_999*len(`{"orderId":`))},
		{"100,000 brackets that never close", `{"x":` + strings.Repeat("[", 100_000),
			tooDeep(5 + 9_999)},
		{"a megabyte of fields", `{` + many.String() + `"orderId":"a"}`, order},
		{"a megabyte in one field", `{"x":"` + strings.Repeat("x", 1<<20) + `","orderId":"a"}`,
			order},
		{"a megabyte of white space", `{` + strings.Repeat(" ", 1<<20) + `"orderId":"a"}`, order},
		{"a megabyte of digits", `{"x":` + strings.Repeat("1", 1<<20) + `,"orderId":"a"}`, order},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := outcome(decode(t, []byte(tt.body), nil)); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// TestDecode_sameOrder wants every way to write one order to be one identity, and orders that
// only look alike to stay apart.
func TestDecode_sameOrder(t *testing.T) {
	structured := map[string]string{"content-type": "application/cloudevents+json"}
	binary := map[string]string{"ce-id": "e-9", "ce-source": "//x", "ce-type": "order.accepted"}
	type message struct {
		body  string
		attrs map[string]string
	}
	groups := []struct {
		name     string
		messages []message
	}{
		{"42", []message{
			{`{"orderId":42}`, nil},
			{`{"orderId":"42"}`, nil},
			{`{"orderId":"\u0034\u0032"}`, nil},
			{` { "x" : 1 , "orderId" : 42 } `, nil},
			{`{"orderId":"42","source":""}`, nil},
			{`{"orderId":"42","source":null}`, nil},
			{`{"orderId":"42","kind":"ORDER_ACCEPTED"}`, nil},
			{`{"orderId":"42","kind":"order.accepted"}`, nil},
			{`{"orderId":"42","kind":"com.atlasmart.order.accepted"}`, nil},
			{`{"orderId":"42","acceptedAt":"2026-11-29T00:00:00Z"}`, nil},
			{`{"orderId":"42"}`, binary},
			{`{"id":"e-1","source":"//a","data":{"orderId":42}}`, structured},
			{`{"id":"e-2","source":"//b","type":"order.accepted","data":{"orderId":"42"}}`,
				structured},
		}},
		{"42 of erp", []message{
			{`{"orderId":42,"source":"erp"}`, nil},
			{`{"source":"\u0065rp","orderId":"42"}`, nil},
			{`{"source":"//b","data":{"orderId":42,"source":"erp"}}`, structured},
		}},
		{"42 of another case", []message{{`{"orderId":42,"source":"ERP"}`, nil}}},
		{"042", []message{{`{"orderId":"042"}`, nil}}},
		{"42 and a space", []message{{`{"orderId":"42 "}`, nil}}},
		{"-42", []message{{`{"orderId":-42}`, nil}, {`{"orderId":"-42"}`, nil}}},
		{"9223372036854775806", []message{
			{`{"orderId":9223372036854775806}`, nil},
			{`{"orderId":"9223372036854775806"}`, nil},
		}},
		{"9223372036854775807", []message{{`{"orderId":9223372036854775807}`, nil}}},
		{"é composed", []message{{`{"orderId":"é"}`, nil}, {`{"orderId":"\u00e9"}`, nil}}},
		{"é decomposed", []message{{`{"orderId":"e\u0301"}`, nil}}},
		{"parcel", []message{{`{"orderId":"📦"}`, nil}, {`{"orderId":"\uD83D\uDCE6"}`, nil}}},
		{"replacement character", []message{{`{"orderId":"\ufffd"}`, nil}}},
	}
	seen := map[counter.EventID]string{}
	for _, group := range groups {
		for _, m := range group.messages {
			o, err := decode(t, []byte(m.body), m.attrs)
			if err != nil {
				t.Errorf("%s: %s: %v", group.name, m.body, err)
				continue
			}
			id := o.Event("orders-today")
			if other, ok := seen[id]; ok && other != group.name {
				t.Errorf("%s: %s is the same order as %s", group.name, m.body, other)
			} else if !ok && len(seen) > 0 && m.body != group.messages[0].body {
				t.Errorf("%s: %s is an order of its own", group.name, m.body)
			}
			seen[id] = group.name
		}
	}
	if len(seen) != len(groups) {
		t.Errorf("%d orders, want %d", len(seen), len(groups))
	}
}

// TestDecode_marker works the marker's name out from the design's words alone.
func TestDecode_marker(t *testing.T) {
	body := `{"orderId":"ord-9001","kind":"order.accepted","source":"legacy-erp"}`
	o, err := decode(t, []byte(body), nil)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte("orders-today\x00ORDER_ACCEPTED\x00legacy-erp\x00ord-9001"))
	if got, want := o.Event("orders-today").String(), fmt.Sprintf("%x", sum); got != want {
		t.Errorf("marker %s, want %s", got, want)
	}
}

func TestDecode_kinds(t *testing.T) {
	d := NewDecoder([]string{"counted", "gezählt"})
	got := map[string]string{}
	for _, kind := range []string{`"counted"`, `"gez\u00e4hlt"`, `"ORDER_ACCEPTED"`,
		`"order.accepted"`, `"COUNTED"`, `""`, `null`} {
		m := Message{Data: []byte(`{"orderId":"a","kind":` + kind + `}`), PublishTime: published}
		o, err := d.Decode(m, now)
		got[kind] = outcome(o, err)
	}
	order := `order "a" of source "" at its publish time`
	want := map[string]string{`"counted"`: order, `"gez\u00e4hlt"`: order, `null`: order,
		`"ORDER_ACCEPTED"`: "ignored", `"order.accepted"`: "ignored", `"COUNTED"`: "ignored",
		`""`: "ignored"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
}

func TestShorten(t *testing.T) {
	long := strings.Repeat("x", 256)
	for _, tt := range []struct{ name, s, want string }{
		{"short", "a reason", "a reason"},
		{"as long as may be", long, long},
		{"a byte longer", long + "y", long[:253] + "…"},
		{"cut within a letter", strings.Repeat("x", 252) + "üü", strings.Repeat("x", 252) + "üü"},
		{"cut within a letter, longer", strings.Repeat("x", 252) + "üüü",
			strings.Repeat("x", 252) + "…"},
		{"not UTF-8", "a\xffb", "a?b"},
	} {
		if got := shorten(tt.s, 256); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}
