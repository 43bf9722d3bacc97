package main

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"
)

// A row is the body that is made of a row of a .csv file.
type row struct {
	OrderID    string `json:"orderId"`
	AcceptedAt string `json:"acceptedAt,omitempty"`
}

// readCSV makes a body of each row below the header.
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
		return nil, err // names the line
	}
	id, date, err := columns(header)
	if err != nil {
		line, _ := table.FieldPos(0)
		return nil, fmt.Errorf("line %d: %w", line, err)
	}
	return readRows(table, id, date)
}

func readRows(table *csv.Reader, id, date int) ([][]byte, error) {
	var bodies [][]byte
	for {
		record, err := table.Read()
		if err == io.EOF {
			return bodies, nil
		}
		if err != nil {
			return nil, err // names the line
		}
		body, err := rowBody(record, id, date)
		if err != nil {
			line, _ := table.FieldPos(0)
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		bodies = append(bodies, body)
	}
}

// columns finds the order id, which must be there, and the date, which is -1 where it is not. Two
// columns that could be the same one would make the choice a matter of luck.
func columns(header []string) (id, date int, err error) {
	id, date = -1, -1
	for i, name := range header {
		into := &id
		switch name {
		case "orderID", "orderId":
		case "orderDate", "acceptedAt":
			into = &date
		default:
			continue
		}
		if *into >= 0 {
			return 0, 0, fmt.Errorf("the columns %s and %s say the same", header[*into], name)
		}
		*into = i
	}
	if id < 0 {
		return 0, 0, fmt.Errorf("the header %q has no column orderID or orderId", header)
	}
	return id, date, nil
}

// rowBody makes the body of a row. Text that is not UTF-8 is refused here, because the JSON encoder
// would turn two ids that differ only in such bytes into one.
func rowBody(record []string, id, date int) ([]byte, error) {
	r := row{OrderID: record[id]}
	if r.OrderID == "" {
		return nil, errors.New("the order id is empty")
	}
	if !utf8.ValidString(r.OrderID) {
		return nil, fmt.Errorf("the order id %q is not UTF-8", r.OrderID)
	}
	if date >= 0 && record[date] != "" {
		at, err := acceptedAt(record[date])
		if err != nil {
			return nil, err
		}
		r.AcceptedAt = at
	}
	return json.Marshal(r)
}

// timeForm is RFC 3339's. time.Parse alone takes more, and the worker would refuse it: an hour of
// one digit, a comma, any offset (https://go.dev/issue/54580).
var timeForm = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?` +
	`(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`)

// acceptedAt returns a bare date's midnight UTC, and an RFC 3339 time as it is.
func acceptedAt(s string) (string, error) {
	if t, err := time.Parse(time.DateOnly, s); err == nil {
		return t.Format(time.RFC3339), nil
	}
	upper := strings.ToUpper(s)
	if _, err := time.Parse(time.RFC3339, upper); err != nil || !timeForm.MatchString(upper) {
		return "", fmt.Errorf("%q is no date like 1996-07-04 and no RFC 3339 time", s)
	}
	return s, nil
}
