package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadFile(t *testing.T) {
	for _, tt := range []struct {
		name, file, content string
		want                []string
		err                 string // its end
	}{
		{"lines are kept byte for byte", "o.jsonl",
			"{\"orderId\":\"a\"}\n\n  \n{ \"orderId\" : 7 }\r\nnot json\n",
			[]string{`{"orderId":"a"}`, `{ "orderId" : 7 }`, "not json"}, ""},
		{"no newline at the end", "o.jsonl", `{"orderId":"a"}`, []string{`{"orderId":"a"}`}, ""},
		{"no orders", "o.jsonl", "\n\n", nil, "o.jsonl: there are none"},
		{"a line beyond a message", "o.jsonl", "x\n" + strings.Repeat("x", maxLine+2), nil,
			"line 2 is longer than a message may be"},
		{"dates", "o.csv",
			"orderID,customerID,orderDate\n10248,VINET,1996-07-04\n10249,TOMSP,1996-07-05T10:00:00+02:00\n10250,X,\n",
			[]string{`{"orderId":"10248","acceptedAt":"1996-07-04T00:00:00Z"}`,
				`{"orderId":"10249","acceptedAt":"1996-07-05T10:00:00+02:00"}`,
				`{"orderId":"10250"}`}, ""},
		{"other names, order, quotes, CRLF and a byte-order mark", "o.csv",
			"\ufeffacceptedAt,note,orderId\r\n2026-11-30,\"a,\nb\",\"say \"\"42\"\"\"\r\n",
			[]string{`{"orderId":"say \"42\"","acceptedAt":"2026-11-30T00:00:00Z"}`}, ""},
		{"no dates", "o.csv", "orderId\na\nb\n",
			[]string{`{"orderId":"a"}`, `{"orderId":"b"}`}, ""},
		{"no id column", "o.csv", "id,orderDate\n1,1996-07-04\n", nil,
			`the header ["id" "orderDate"] has no column orderID or orderId`},
		{"an empty id", "o.csv", "orderId,orderDate\na,1996-07-04\n,1996-07-04\n", nil,
			"line 3: the order id is empty"},
		{"a bad date", "o.csv", "orderId,orderDate\na,04/07/1996\n", nil,
			`line 2: "04/07/1996" is no date like 1996-07-04 and no RFC 3339 time`},
		{"a ragged row", "o.csv", "orderId,orderDate\na\n", nil,
			"record on line 2: wrong number of fields"},
		{"only a header", "o.csv", "orderId\n", nil, "o.csv: there are none"},
		{"empty", "o.csv", "", nil, "o.csv: there are none"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), tt.file)
			if err := os.WriteFile(path, []byte(tt.content), 0o600); err != nil {
				t.Fatal(err)
			}
			bodies, err := readFile(path)
			var got []string
			for _, b := range bodies {
				got = append(got, string(b))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("bodies (-want +got):\n%s", diff)
			}
			if (err == nil) != (tt.err == "") || err != nil && !strings.HasSuffix(err.Error(), tt.err) {
				t.Errorf("error %v, want one that ends in %q", err, tt.err)
			}
		})
	}
}

func FuzzReadCSV(f *testing.F) {
	f.Add("orderID,orderDate\n10248,1996-07-04\n")
	f.Add("orderId\n\"a\n\"\n")
	f.Fuzz(func(t *testing.T, content string) {
		bodies, err := readCSV(strings.NewReader(content))
		if err != nil {
			return
		}
		for _, b := range bodies { // what is made of a row is what the worker can read
			if c := look([][]byte{b}, "c", farFuture); c.ignored != 0 {
				t.Errorf("%q became another kind", b)
			}
		}
	})
}

func TestSequence(t *testing.T) {
	if diff := cmp.Diff([]int{0, 1, 2, 0, 1, 2}, sequence(3, 2, false, 1)); diff != "" {
		t.Errorf("in order (-want +got):\n%s", diff)
	}
	one, same, other := sequence(20, 3, true, 1), sequence(20, 3, true, 1), sequence(20, 3, true, 2)
	if !slices.Equal(one, same) {
		t.Error("the same seed gave another order")
	}
	if slices.Equal(one, other) || slices.Equal(one, sequence(20, 3, false, 1)) {
		t.Error("another seed, or none, gave the same order")
	}
	slices.Sort(one)
	want := sequence(20, 3, false, 1)
	slices.Sort(want)
	if !slices.Equal(one, want) {
		t.Error("the shuffled order is no permutation")
	}
}
