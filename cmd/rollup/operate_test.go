package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/firestore"

	"github.com/atlasmart/ordertally/internal/counter"
	"github.com/atlasmart/ordertally/internal/settings"
)

func TestOperatorsArguments(t *testing.T) {
	t.Setenv("GOOGLE_CLOUD_PROJECT", "p")
	t.Setenv("FIRESTORE_EMULATOR_HOST", "127.0.0.1:1") // nothing is asked
	for _, tt := range []struct{ args, want string }{
		{"audit -marker-ttl 0s", "rollup audit: want a -marker-ttl of more than 0, such as 840h"},
		{"audit -yes", "rollup audit: -yes answers -repair, which is missing"},
		{"audit -repair -accept -yes",
			"rollup audit: -accept and -repair exclude each other: repair first"},
		{"audit -repair", "rollup audit: -repair asks first, and there is no terminal: add -yes"},
		{"recent -n 0", "rollup recent: -n is 0, want 1 to 1000"},
		{"recent -day yesterday",
			`rollup recent: -day is "yesterday", want a day such as 2026-11-30`},
		{"recent -page nonsense",
			"rollup recent: -page: bad page token: it is not one that this command printed"},
		{"cleanup", "rollup cleanup: want an -older-than of more than 0: at least the marker TTL, " +
			"such as 840h"},
	} {
		t.Run(tt.args, func(t *testing.T) {
			_, stderr, code := invoke(t, strings.Fields(tt.args)...)
			if want := tt.want + "\nrollup -h shows how it is used"; stderr != want || code != 2 {
				t.Errorf("%q and exit code %d, want %q and 2", stderr, code, want)
			}
		})
	}
}

// answer runs the program on a terminal on which somebody types that.
func answer(t *testing.T, typed string, args ...string) (stderr string, code int) {
	t.Helper()
	var logs bytes.Buffer
	err := run(t.Context(), args, deps{stdin: strings.NewReader(typed), stdout: &bytes.Buffer{},
		stderr: &logs, terminal: true})
	if err != nil {
		logs.WriteString(err.Error())
	}
	return logs.String(), settings.ExitCode(err)
}

func TestRepair(t *testing.T) {
	client := counted(t, 12)
	shard := client.Doc("counters/orders-today/shards/1")
	drift := func() {
		t.Helper()
		_, err := shard.Update(t.Context(), []firestore.Update{{Path: "count",
			Value: firestore.Increment(3)}})
		if err != nil {
			t.Fatal(err)
		}
	}
	drift()
	stderr, code := answer(t, "y\n", "audit", "-repair")
	if code != 1 || !strings.Contains(stderr, "  shard 1 count -3\n") ||
		!strings.HasSuffix(stderr, "orders-today was not repaired: nobody said yes") {
		t.Errorf("without a yes: %q and exit code %d", stderr, code)
	}
	if stderr, code := answer(t, "yes\n", "audit", "-repair"); code != 0 ||
		!strings.HasSuffix(stderr, "repaired, and recorded as repair 1\n") {
		t.Errorf("with a yes: %q and exit code %d", stderr, code)
	}
	drift()
	stdout, stderr, code := invoke(t, "audit", "-repair", "-yes", "-json")
	var a counter.AuditReport
	if err := json.Unmarshal([]byte(stdout), &a); err != nil || code != 0 || !a.OK || a.Count != 12 {
		t.Errorf("with -yes: %q, %q and exit code %d, %v", stdout, stderr, code, err)
	}
	if _, stderr, code := invoke(t, "audit", "-repair", "-yes"); code != 0 || stderr != "" {
		t.Errorf("with nothing to repair: %q and exit code %d", stderr, code)
	}
	docs, err := client.Collection("counters/orders-today/repairs").Documents(t.Context()).GetAll()
	if err != nil || len(docs) != 2 || docs[0].Data()["by"] != operator() {
		t.Errorf("%d records of repairs, %v, want two by %s", len(docs), err, operator())
	}
}

func TestRecentPages(t *testing.T) {
	counted(t, 7)
	seen := map[string]bool{}
	args := []string{"recent", "-n", "3", "-json"}
	for _, want := range []int{3, 3, 1} {
		stdout, stderr, code := invoke(t, args...)
		var l counter.Listing
		if err := json.Unmarshal([]byte(stdout), &l); err != nil || code != 0 ||
			len(l.Orders) != want || (l.Next == "") != (want == 1) {
			t.Fatalf("%q, %q and exit code %d, %v", stdout, stderr, code, err)
		}
		for _, o := range l.Orders {
			seen[o.ID] = true
		}
		args = []string{"recent", "-n", "3", "-json", "-page", l.Next}
	}
	if len(seen) != 7 {
		t.Errorf("listed %v, want the 7 orders", seen)
	}
	if stdout, _, code := invoke(t, "recent", "-day", "1970-01-01"); code != 0 ||
		stdout != "orders-today has no such orders\n" {
		t.Errorf("a day without orders: %q and exit code %d", stdout, code)
	}
}

// TestCleanUp deletes markers that were written two hours ago and lived for one.
func TestCleanUp(t *testing.T) {
	client := counted(t, 9)
	_, stderr, code := invoke(t, "cleanup", "-older-than", "1h")
	if code != 1 || stderr != `no audit has sealed anything yet of "orders-today"` {
		t.Errorf("of markers just written: %q and exit code %d", stderr, code)
	}
	docs, err := client.Collection("counterEvents").Documents(t.Context()).GetAll()
	if err != nil {
		t.Fatal(err)
	}
	for i, d := range docs {
		created := time.Now().Add(-2 * time.Hour)
		expires := created.Add(time.Hour)
		if i == len(docs)-1 { // the newest
			expires = created.Add(3 * time.Hour)
		}
		_, err := d.Ref.Update(t.Context(), []firestore.Update{{Path: "createdAt", Value: created},
			{Path: "expireAt", Value: expires}})
		if err != nil {
			t.Fatal(err)
		}
	}
	_, stderr, code = invoke(t, "cleanup", "-older-than", "1m")
	if code != 1 || !strings.HasPrefix(stderr, "not safe to delete: of the markers older than 1m0s, ") {
		t.Errorf("with a marker that is alive: %q and exit code %d", stderr, code)
	}
	_, err = docs[len(docs)-1].Ref.Update(t.Context(), []firestore.Update{{Path: "expireAt",
		Value: time.Now().Add(-time.Minute)}})
	if err != nil {
		t.Fatal(err)
	}
	stdout, stderr, code := invoke(t, "cleanup", "-older-than", "1h")
	want := "deleted 9 expired markers of orders-today, and kept 0 of that age that have not expired\n"
	if stdout != want || code != 0 || !strings.Contains(stderr, "markers deleted so far") {
		t.Errorf("%q, %q and exit code %d, want %q", stdout, stderr, code, want)
	}
	if stdout, stderr, code := invoke(t, "audit"); code != 0 {
		t.Errorf("audit after it: %s%s", stdout, stderr)
	}
}
