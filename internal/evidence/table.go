package evidence

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// The table stands between these two lines. What is around them is written by hand.
const (
	begin = "<!-- evidence: make exactness writes this table -->"
	end   = "<!-- evidence: end -->"
)

// Render returns the page with its table made anew from the recorded lines.
func Render(page []byte, lines io.Reader) ([]byte, error) {
	rows, err := read(lines)
	if err != nil {
		return nil, err
	}
	head, rest, ok := bytes.Cut(page, []byte(begin))
	if !ok {
		return nil, fmt.Errorf("the page has no line %q", begin)
	}
	_, tail, ok := bytes.Cut(rest, []byte(end))
	if !ok {
		return nil, fmt.Errorf("the page has no line %q after the other", end)
	}
	return slices.Concat(head, []byte(begin+"\n"), table(merge(rows)), []byte(end), tail), nil
}

func read(lines io.Reader) ([]Row, error) {
	var rows []Row
	dec := json.NewDecoder(lines)
	for {
		var r Row
		err := dec.Decode(&r)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("reading evidence after %d rows: %w", len(rows), err)
		}
		rows = append(rows, r)
	}
	if len(rows) == 0 {
		return nil, errors.New("there is no evidence: no test recorded a row")
	}
	return rows, nil
}

// merge sorts the rows and adds up those that differ only in how often.
func merge(rows []Row) []Row {
	slices.SortFunc(rows, compare)
	var merged []Row
	for _, r := range rows {
		if n := len(merged); n > 0 && compare(merged[n-1], r) == 0 {
			merged[n-1].Times += r.Times
			continue
		}
		merged = append(merged, r)
	}
	return merged
}

// compare orders rows by everything but Times.
func compare(a, b Row) int {
	return cmp.Or(
		strings.Compare(a.Fault, b.Fault),
		strings.Compare(a.How, b.How),
		strings.Compare(a.Checked, b.Checked),
		strings.Compare(a.Result, b.Result),
	)
}

func table(rows []Row) []byte {
	var b bytes.Buffer
	b.WriteString("| fault | how it is injected | times | checked | result |\n")
	b.WriteString("|---|---|---:|---|---|\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n",
			cell(r.Fault), cell(r.How), Thousands(r.Times), cell(r.Checked), cell(r.Result))
	}
	return b.Bytes()
}

// cell keeps a text in its cell.
func cell(s string) string {
	return strings.NewReplacer("|", `\|`, "\r", " ", "\n", " ", "<", "&lt;").Replace(s)
}

// Thousands writes n as people read it: 20,000.
func Thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
