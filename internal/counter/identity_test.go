package counter

import (
	"strings"
	"testing"
	"time"
)

func TestEvent(t *testing.T) {
	// From: printf 'orders-today\0ORDER_ACCEPTED\0\0ord-9001' | sha256sum
	for _, tt := range []struct {
		counter, source, id string
		want                string
	}{
		{"orders-today", "", "ord-9001", "625eca7c6bfb70d7b48dbdb16980b6b7b16533d17e5cedb4fdccc3e1d3664d1d"},
		{"orders-today", "legacy-erp", "ord-9001", "8ab6620b7ae87b6c3b4d5fdd3c0092b87bcffe0bfd1b6d84e2e24fa93dccc19e"},
		{"returns", "", "ord-9001", "dd845a14cd883909168c26a0be39147bdb95826278127d295fc8dadd7078b888"},
	} {
		got := Order{ID: tt.id, Source: tt.source, AcceptedAt: noon, MessageID: "7"}.Event(tt.counter)
		if got.String() != tt.want {
			t.Errorf("event of %q from %q in %q is %v, want %v",
				tt.id, tt.source, tt.counter, got, tt.want)
		}
	}
}

func TestShard(t *testing.T) {
	id := EventID{0x80, 0, 0, 0, 0, 0, 0, 7, 0xff} // 2⁶³+7: beyond int64
	for n, want := range map[int]int{1: 0, 2: 1, 10: 5, 1000: 815} {
		if got := id.Shard(n); got != want {
			t.Errorf("shard of %d: %d, want %d", n, got, want)
		}
	}
}

func TestShardsAreEven(t *testing.T) {
	const orders, shards = 100_000, 10
	var counts [shards]int
	for i := range orders {
		id := Order{ID: "ord-" + strings.Repeat("0", i%3) + time.Duration(i).String()}.Event("c")
		counts[id.Shard(shards)]++
	}
	for i, n := range counts {
		if n < orders/shards*95/100 || n > orders/shards*105/100 {
			t.Errorf("shard %d got %d of %d orders, want about a tenth", i, n, orders)
		}
	}
}

func TestDay(t *testing.T) {
	seoul, err := time.LoadLocation("Asia/Seoul")
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 11, 30, 23, 30, 0, 0, time.UTC)
	if got := Day(at, time.UTC); got != "2026-11-30" {
		t.Errorf("in UTC: %s", got)
	}
	if got := Day(at, seoul); got != "2026-12-01" {
		t.Errorf("in Seoul: %s", got)
	}
}

func TestCheckName(t *testing.T) {
	for _, name := range []string{"orders-today", "a", "A.b_c-9", "_x_", "__x", "...",
		strings.Repeat("x", 128)} {
		if err := CheckName(name); err != nil {
			t.Errorf("%q: %v, want no error", name, err)
		}
	}
	for _, name := range []string{"", ".", "..", "__x__", "____", "__", "a/b", "a b", "ü", "a\x00b",
		"a\n", strings.Repeat("x", 129)} {
		if CheckName(name) == nil {
			t.Errorf("%q: no error", name)
		}
	}
}
