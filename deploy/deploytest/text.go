package deploytest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// CheckSettings wants that every setting with the prefix which deploy and docs name is one that a
// program knows, whose settings load reads.
func CheckSettings(t *testing.T, module, prefix string, load func() error) {
	t.Helper()
	names := settingNames(t, module, prefix)
	for name := range names {
		t.Setenv(name, "")
	}
	for line := range strings.Lines(load().Error()) {
		if name, _, _ := strings.Cut(line, " "); strings.Contains(line, "is unknown") {
			t.Errorf("%s: %s", names[name], line)
		}
	}
}

// settingNames returns every name with a prefix, such as WORKER_, that a file of deploy or docs
// has, be it in a comment, and the file.
func settingNames(tb testing.TB, module, prefix string) map[string]string {
	tb.Helper()
	form := regexp.MustCompile(`\b` + prefix + `[A-Z_]*[A-Z]\b`)
	names := map[string]string{}
	for _, root := range []string{"deploy", "docs"} {
		root = filepath.Join(module, root)
		if err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(file) == ".go" {
				return err
			}
			raw, err := os.ReadFile(file)
			for _, name := range form.FindAllString(string(raw), -1) {
				names[name] = file
			}
			return err
		}); err != nil {
			tb.Fatal(err)
		}
	}
	delete(names, "WORKER_PORT") // which Kubernetes injects, and a comment warns of
	if len(names) == 0 {
		tb.Fatalf("no file names a setting %s…", prefix)
	}
	return names
}

// CommandLines returns the arguments of every command line of a program in the runbook: in code,
// or a line of a block of it. The bare name of a program counts where it is a command.
func CommandLines(tb testing.TB, module, program string) [][]string {
	tb.Helper()
	raw, err := os.ReadFile(filepath.Join(module, "docs", "runbook.md"))
	if err != nil {
		tb.Fatal(err)
	}
	form := regexp.MustCompile("(?m)`" + program + " ([^`]+)`|^ {4,}" + program + " (.+)$")
	var lines [][]string
	for _, m := range form.FindAllStringSubmatch(string(raw), -1) {
		lines = append(lines, strings.Fields(m[1]+m[2]))
	}
	if len(lines) == 0 {
		tb.Fatalf("the runbook has no command line of %s", program)
	}
	return lines
}
