// Package evidence collects what the tests have shown, and renders it into the table of
// docs/exactness.md.
//
//	evidence.Record(evidence.Row{
//		Fault:   "answer lost after the commit applied",
//		How:     "interceptor, Unavailable instead of the answer",
//		Times:   int(lost.Load()),
//		Checked: "total = markers = orders",
//		Result:  "1,000 of 1,000 orders, drift 0",
//	})
//
// A test records a row after its last check, and only when it holds: a row is a claim. Without
// the variable ORDERTALLY_EVIDENCE nothing is recorded; make exactness sets it, and renders.
package evidence

import (
	"encoding/json"
	"fmt"
	"os"
)

// Variable names the file that Record appends to.
const Variable = "ORDERTALLY_EVIDENCE"

// A Row is one line of the table: a fault and what came of it. Rows that differ only in Times
// become one, with the sum.
type Row struct {
	Fault   string `json:"fault"`   // what goes wrong: "SIGKILL"
	How     string `json:"how"`     // how it is made to go wrong
	Times   int    `json:"times"`   // how often it did
	Checked string `json:"checked"` // what was looked at
	Result  string `json:"result"`  // what was seen, with figures
}

// Record appends the row as one JSON line to the file that the environment names, if it does.
// Processes may record at once: a line is one write. A file that cannot be written is a panic,
// since a table that lacks rows without a word is worse than none.
func Record(r Row) {
	path := os.Getenv(Variable)
	if path == "" {
		return
	}
	if err := record(path, r); err != nil {
		panic(fmt.Sprintf("recording evidence for %q: %v", r.Fault, err))
	}
}

func record(path string, r Row) error {
	if r.Fault == "" || r.How == "" || r.Times < 1 || r.Checked == "" || r.Result == "" {
		return fmt.Errorf("the row is not whole: %+v", r)
	}
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	if _, err := f.Write(append(line, '\n')); err != nil {
		_ = f.Close() // the write's error says more
		return err
	}
	return f.Close()
}
