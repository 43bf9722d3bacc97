package main

import "testing"

func TestReplayed_exact(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		r    replayed
		want bool
	}{
		{"exact", replayed{Published: 80, Orders: 40, Total: 40, Markers: 40, OK: true}, true},
		{"not ok", replayed{Published: 80, Orders: 40, Total: 40, Markers: 40}, false},
		{"one too many", replayed{Published: 80, Orders: 40, Total: 41, Markers: 40, OK: true}, false},
		{"a marker short", replayed{Published: 80, Orders: 40, Total: 40, Markers: 39, OK: true}, false},
		{"published once", replayed{Published: 40, Orders: 40, Total: 40, Markers: 40, OK: true}, false},
		{"nothing", replayed{OK: true}, false},
	} {
		if err := test.r.exact(); (err == nil) != test.want {
			t.Errorf("%s: got error %v", test.name, err)
		}
	}
}
