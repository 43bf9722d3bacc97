package evidence

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var row = Row{Fault: "SIGKILL", How: "kill -9", Times: 700, Checked: "total", Result: "exact"}

func with(change func(*Row)) Row {
	r := row
	change(&r)
	return r
}

// TestRender_recorded renders what several goroutines have recorded at once: sorted, added up,
// and in the place of the last table.
func TestRender_recorded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lines")
	t.Setenv(Variable, path)
	var wg sync.WaitGroup
	for _, r := range []Row{
		row, row,
		with(func(r *Row) { r.Fault = "Aborted"; r.How = "a | b\n<c>" }),
		with(func(r *Row) { r.Result = "off by one" }),
	} {
		wg.Go(func() { Record(r) })
	}
	wg.Wait()
	page := "# Title\n\n" + begin + "\n| old |\n" + end + "\n\nText.\n"
	want := "# Title\n\n" + begin + `
| fault | how it is injected | times | checked | result |
|---|---|---:|---|---|
| Aborted | a \| b &lt;c> | 700 | total | exact |
| SIGKILL | kill -9 | 1,400 | total | exact |
| SIGKILL | kill -9 | 700 | total | off by one |
` + end + "\n\nText.\n"
	for range 2 { // the second time over the first
		lines, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Render([]byte(page), lines)
		if err != nil {
			t.Fatal(err)
		}
		if err := lines.Close(); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("page (-want +got):\n%s", diff)
		}
		page = string(got)
	}
}

func TestRender_bad(t *testing.T) {
	whole := begin + "\n" + end
	for _, tt := range []struct{ name, page, lines, want string }{
		{"no rows", whole, "", "there is no evidence"},
		{"half a line", whole, `{"fault":"a"}` + "\n" + `{"fault`, "after 1 rows"},
		{"no begin", end, `{"fault":"a"}`, begin},
		{"end before begin", end + begin, `{"fault":"a"}`, end},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Render([]byte(tt.page), strings.NewReader(tt.lines))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}

func TestRecord_nothingAsked(t *testing.T) {
	t.Setenv(Variable, "")
	Record(Row{}) // would panic: the row is not whole
}

func TestRecord_notWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lines")
	for name, change := range map[string]func(*Row){
		"fault":   func(r *Row) { r.Fault = "" },
		"how":     func(r *Row) { r.How = "" },
		"times":   func(r *Row) { r.Times = 0 },
		"checked": func(r *Row) { r.Checked = "" },
		"result":  func(r *Row) { r.Result = "" },
	} {
		if err := record(path, with(change)); err == nil {
			t.Errorf("a row without %s was recorded", name)
		}
	}
}

func TestThousands(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -100: "-100"} {
		if got := Thousands(n); got != want {
			t.Errorf("Thousands(%d) is %q, want %q", n, got, want)
		}
	}
}
