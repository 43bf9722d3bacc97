package main

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// maxLine is the longest line of a .jsonl file: the largest message that Pub/Sub takes
// (https://cloud.google.com/pubsub/quotas#resource_limits).
const maxLine = 10 << 20

// readFile reads the message bodies of a file, and checks all of it before anything is published.
func readFile(path string) ([][]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading orders: %w", err)
	}
	defer f.Close()
	read := readLines
	if filepath.Ext(path) == ".csv" {
		read = readCSV
	}
	bodies, err := read(f)
	if err != nil {
		return nil, fmt.Errorf("reading orders from %s: %w", path, err)
	}
	if len(bodies) == 0 {
		return nil, fmt.Errorf("reading orders from %s: there are none", path)
	}
	return bodies, nil
}

// readLines takes each line that is not blank as a body, byte for byte: also one that the worker
// will refuse, since that is worth a trial too.
func readLines(r io.Reader) ([][]byte, error) {
	var bodies [][]byte
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 1<<16), maxLine+1)
	n := 0
	for ; lines.Scan(); n++ {
		if line := bytes.TrimRight(lines.Bytes(), "\r"); len(bytes.TrimSpace(line)) > 0 {
			bodies = append(bodies, bytes.Clone(line))
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return nil, fmt.Errorf("line %d is longer than a message may be", n+1)
	} else if err != nil {
		return nil, err
	}
	return bodies, nil
}

// A row is the body that is made of a row of a .csv file.
type row struct {
	OrderID    string `json:"orderId"`
	AcceptedAt string `json:"acceptedAt,omitempty"`
}

func readCSV(r io.Reader) ([][]byte, error) {
	in := bufio.NewReader(r)
	if bom, _ := in.Peek(3); string(bom) == "\ufeff" {
		_, _ = in.Discard(3) // spreadsheets write one; it is there, as Peek has shown
	}
	table := csv.NewReader(in)
	header, err := table.Read()
	if err == io.EOF {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	id, date := column(header, "orderID", "orderId"), column(header, "orderDate", "acceptedAt")
	if id < 0 {
		return nil, fmt.Errorf("the header %q has no column orderID or orderId", header)
	}
	var bodies [][]byte
	for {
		record, err := table.Read()
		if err == io.EOF {
			return bodies, nil
		}
		if err != nil {
			return nil, err // names the line
		}
		line, _ := table.FieldPos(id)
		body, err := rowBody(record, id, date)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		bodies = append(bodies, body)
	}
}

func column(header []string, names ...string) int {
	return slices.IndexFunc(header, func(h string) bool { return slices.Contains(names, h) })
}

// rowBody makes the body of a row. A bare date is its midnight UTC.
func rowBody(record []string, id, date int) ([]byte, error) {
	r := row{OrderID: record[id]}
	if r.OrderID == "" {
		return nil, errors.New("the order id is empty")
	}
	if date >= 0 && record[date] != "" {
		t, err := time.Parse(time.DateOnly, record[date])
		if err != nil {
			t, err = time.Parse(time.RFC3339Nano, record[date])
		}
		if err != nil {
			return nil, fmt.Errorf("%q is no date like 1996-07-04 and no RFC 3339 time", record[date])
		}
		r.AcceptedAt = t.Format(time.RFC3339Nano)
	}
	return json.Marshal(r)
}
