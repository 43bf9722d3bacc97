package counter

import (
	"encoding/binary"
	"testing"
	"time"
)

func event(i int) (id EventID) {
	binary.BigEndian.PutUint64(id[:], uint64(i))
	return id
}

func TestMemoryForgetsTheOldest(t *testing.T) {
	m := newMemory(100)
	for i := range 1000 {
		m.add(event(i))
		for _, back := range []int{0, 1, 99} { // the newest hundred are always known
			if i-back >= 0 && !m.has(event(i-back)) {
				t.Fatalf("after %d events, the one %d before is forgotten", i+1, back)
			}
		}
		if n := len(m.young) + len(m.aged); n > 200 {
			t.Fatalf("%d events remembered, want at most 200", n)
		}
	}
	if m.has(event(0)) || m.has(event(1000)) {
		t.Error("remembers what it should have forgotten, or never knew")
	}
}

func TestBackoff(t *testing.T) {
	var b backoff
	for i, whole := range []time.Duration{50, 100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000} {
		whole *= time.Millisecond
		if d := b.next(); d < whole/2 || d > whole {
			t.Errorf("pause %d is %v, want %v to %v", i, d, whole/2, whole)
		}
	}
	b.failures = 1 << 40
	if d := b.next(); d < backoffMax/2 || d > backoffMax {
		t.Errorf("the pause after very many is %v", d)
	}
}

func TestDuplicates(t *testing.T) {
	var d duplicates
	steps := func(met bool, n int) {
		for range n {
			d.observe(map[bool]int{true: 1}[met])
		}
	}
	steps(true, 2)
	if d.frequent() {
		t.Error("reads first after two groups with duplicates")
	}
	steps(true, 1)
	if !d.frequent() {
		t.Error("does not read first after three groups with duplicates in a row")
	}
	steps(false, 3)
	if !d.frequent() {
		t.Error("stopped reading first after three groups without: it flaps")
	}
	steps(true, 50)
	steps(false, 8)
	if d.frequent() {
		t.Error("still reads first after eight groups without duplicates")
	}
	for range 100 { // one group in five: not worth it
		steps(true, 1)
		steps(false, 4)
		if d.frequent() {
			t.Fatal("reads first although one group in five holds a duplicate")
		}
	}
	d.observe(duplicatesReplay)
	if !d.frequent() {
		t.Error("does not read first after a group of a replay")
	}
	steps(false, 8)
	if d.frequent() {
		t.Error("still reads first eight groups after a replay")
	}
}
