// Package statusz is the page that shows what a program does at this moment: one HTML document
// without a file or a script beside it, for a browser at the other end of a port-forward.
package statusz

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"net/http"
	"time"

	"github.com/atlasmart/ordertally/internal/settings"
	"github.com/atlasmart/ordertally/internal/telemetry"
)

// A Page is what is shown. It never holds an order id, nor a credential: nobody is asked who they
// are.
type Page struct {
	Program     string // such as worker
	Build       telemetry.Build
	Started     time.Time
	Now         time.Time
	Live, Ready string // what is wrong, a line for each; "": nothing
	Facts       []Fact
	Tables      []Table
	Notes       []telemetry.Note // the newest first
	Settings    []settings.Value
}

// Uptime is how long the program runs.
func (p Page) Uptime() string { return Duration(p.Now.Sub(p.Started)) }

// A Fact is one figure of the program, with its name.
type Fact struct{ Name, Text string }

// A Table is several things of one kind, one a row. The first cell of a row names the thing, and
// the others are figures.
type Table struct {
	Title   string
	Note    string // what has to be known to read it; may be ""
	Columns []string
	Rows    [][]string
}

//go:embed page.html
var source string

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"stamp": func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") },
	"ago":   Ago,
}).Parse(source))

// policy lets a browser load nothing: the page has its style inside, and an empty icon.
const policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"

// Handler shows what page returns at each request.
func Handler(content func(now time.Time) Page) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		var body bytes.Buffer
		if err := page.Execute(&body, content(time.Now())); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("Content-Security-Policy", policy)
		_, _ = body.WriteTo(w) // The reader is gone: nobody is left to tell.
	})
}

// Ago says how long before now t was.
func Ago(now, t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return Duration(now.Sub(t)) + " ago"
}

// Duration writes d in its two largest units.
func Duration(d time.Duration) string {
	switch d = max(0, d); {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	case d < 24*time.Hour:
		return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%d d %d h", int(d.Hours())/24, int(d.Hours())%24)
}

// Rate writes how many there are of something, a second or in something else.
func Rate(r float64) string {
	switch {
	case r == 0:
		return "0"
	case r < 10:
		return fmt.Sprintf("%.2f", r)
	case r < 100:
		return fmt.Sprintf("%.1f", r)
	}
	return fmt.Sprintf("%.0f", r)
}
