package statusz

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"testing"
	"time"
)

// frames shows the page in frames of a phone's and a desk's width, and says by how much it, or a
// table in it, is too wide for them. Windows would not do: Chromium makes none below 500 px.
const frames = `<!DOCTYPE html><title>loading</title>
<iframe src="/" style="width:390px;height:844px"></iframe>
<iframe src="/" style="width:1280px;height:844px"></iframe>
<script>
  const excess = e => e.scrollWidth - e.clientWidth;
  window.onload = () => {
    document.title = 'too wide by ' + [...document.querySelectorAll('iframe')].map(f => {
      const page = f.contentDocument;
      return Math.max(...[page.documentElement, ...page.querySelectorAll('.scroll')].map(excess));
    });
  };
</script>`

var measured = regexp.MustCompile(`<title>(too wide by .*)</title>`)

// TestBrowser lays the page out in a real browser, and wants nothing to scroll sideways.
func TestBrowser(t *testing.T) {
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("no chromium on PATH (Debian: apt-get install chromium): the layout is not checked")
	}
	mux := http.NewServeMux()
	mux.Handle("/", Handler(func(time.Time) Page { return busy() }))
	mux.HandleFunc("/frames", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, frames)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	dom, err := exec.CommandContext(ctx, chromium, "--headless", "--no-sandbox", "--disable-gpu",
		"--user-data-dir="+t.TempDir(), "--window-size=1700,900", "--dump-dom",
		server.URL+"/frames").Output()
	if err != nil {
		t.Fatalf("running %s: %v", chromium, err)
	}
	m := measured.FindSubmatch(dom)
	if m == nil {
		t.Fatalf("the browser did not measure the page:\n%.2000s", dom)
	}
	if got := string(m[1]); got != "too wide by 0,0" {
		t.Errorf("at 390 and 1280 px the page is %s px", got)
	}
}
