package settings

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// unknown returns a line for each variable that begins with a spec's prefix and is no setting.
func unknown(specs []Spec, known []string) (problems []string) {
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if hasPrefix(name, specs) && !slices.Contains(known, name) {
			problems = append(problems, printable(name)+" is unknown"+hint(name, known))
		}
	}
	slices.Sort(problems)
	return problems
}

func hasPrefix(name string, specs []Spec) bool {
	return slices.ContainsFunc(specs, func(s Spec) bool {
		return s.Prefix != "" && strings.HasPrefix(name, s.Prefix+"_")
	})
}

// printable keeps a strange name on its line.
func printable(name string) string {
	quoted := strconv.Quote(name)
	return quoted[1 : len(quoted)-1]
}

// injected matches what Kubernetes sets in every pod for a Service of the same namespace, see
// https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables.
var injected = regexp.MustCompile(`^(.+?)_(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|` +
	`PORT|PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)$`)

// hint guesses where an unknown variable comes from: Kubernetes, or a slip of the pen.
func hint(name string, known []string) string {
	if m := injected.FindStringSubmatch(name); m != nil {
		service := strings.ToLower(strings.ReplaceAll(m[1], "_", "-"))
		return fmt.Sprintf(" (injected by Kubernetes for a Service named %s? "+
			"set enableServiceLinks: false)", service)
	}
	if near := nearest(name, known); near != "" {
		return fmt.Sprintf(" (did you mean %s?)", near)
	}
	return ""
}

// slips is how many letters may be wrong in a name for it to be taken as a known one.
const slips = 2

func nearest(name string, known []string) (near string) {
	best := slips + 1
	for _, k := range known {
		if d := distance(name, k); d < best {
			near, best = k, d
		}
	}
	return near
}

// distance is the Levenshtein distance: how many bytes to insert, delete or replace. Names whose
// lengths alone tell them apart cost nothing.
func distance(a, b string) int {
	if d := max(len(a)-len(b), len(b)-len(a)); d > slips {
		return d
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
