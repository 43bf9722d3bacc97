package deploy

import (
	"go/parser"
	"go/token"
	"go/version"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/atlasmart/ordertally/deploy/deploytest"
)

// TestImage compares the Dockerfile with the tree and with what runs in its image.
func TestImage(t *testing.T) {
	dockerfile, module := read(t, "../Dockerfile"), read(t, "../go.mod")
	builder := match(t, dockerfile, `(?m)^ARG GO_VERSION=(\S+)$`)
	least := match(t, module, `(?m)^go (\S+)$`)
	if version.Compare("go"+builder, "go"+least) < 0 {
		t.Errorf("the Dockerfile builds with Go %s, and go.mod wants %s", builder, least)
	}
	variable := match(t, dockerfile, `-X (\S+)=\$REVISION`)
	folder := strings.TrimPrefix(filepath.Dir(variable), match(t, module, `(?m)^module (\S+)$`))
	pkg, name, _ := strings.Cut(filepath.Base(variable), ".")
	match(t, read(t, filepath.Join("..", folder, pkg, name+".go")), `(?m)^var (`+name+`) string$`)
	if got := match(t, dockerfile, `(?m)^USER (\d+):\d+$`); got == "0" {
		t.Error("the image runs as root")
	}
	programs := strings.Fields(match(t, dockerfile, `(?m)-o /out/ (.*)$`))
	inImage := map[string]bool{}
	for _, path := range programs {
		inImage["/"+filepath.Base(path)] = true
		wantTimeZones(t, path)
	}
	copied := match(t, dockerfile, `(?m)^COPY --from=build ((?:/out/\w+ )+)/$`)
	if got := len(strings.Fields(copied)); got != len(programs) {
		t.Errorf("the image has %d of the %d programs that are built", got, len(programs))
	}
	for file, docs := range deploytest.Manifests(t, "..") {
		for _, c := range containersOf(t, file, docs) {
			if len(c.Command) != 1 || !inImage[c.Command[0]] {
				t.Errorf("%s runs %q, and the image has %v", file, c.Command, inImage)
			}
		}
	}
	if cmd := match(t, dockerfile, `(?m)^CMD \["(.*)"\]$`); cmd != "/worker" {
		t.Errorf("the image runs %s by default, want /worker", cmd)
	}
}

// TestImage_context wants that the build is sent what it copies: .dockerignore ignores the rest.
func TestImage_context(t *testing.T) {
	sent := map[string]bool{}
	for line := range strings.Lines(read(t, "../.dockerignore")) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "!"); ok {
			sent[name] = true
		}
	}
	copies := regexp.MustCompile(`(?m)^COPY ([^-].*) \S+$`)
	for _, m := range copies.FindAllStringSubmatch(read(t, "../Dockerfile"), -1) {
		for _, name := range strings.Fields(m[1]) {
			if _, err := os.Stat(filepath.Join("..", name)); err != nil || !sent[name] {
				t.Errorf("the Dockerfile copies %s (%v), sent: %t", name, err, sent[name])
			}
		}
	}
}

// wantTimeZones wants the time zones inside the program: an empty image has none.
func wantTimeZones(t *testing.T, path string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", path, "main.go"), nil,
		parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	for _, imp := range file.Imports {
		if name, _ := strconv.Unquote(imp.Path.Value); name == "time/tzdata" {
			return
		}
	}
	t.Errorf("%s does not import time/tzdata", path)
}

func read(t *testing.T, file string) string {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// match returns the first group of a pattern that must be there.
func match(t *testing.T, text, pattern string) string {
	t.Helper()
	m := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("nothing matches %s", pattern)
	}
	return m[1]
}

func containersOf(t *testing.T, file string, docs []map[string]any) (found []deploytest.Container) {
	t.Helper()
	for _, doc := range docs {
		found = append(found, deploytest.ContainersOf(t, file, doc)...)
	}
	return found
}
