// Package settings reads a program's settings from the environment, strictly, and reports every
// problem at once: a deployment with three mistakes costs one restart, not three.
//
// envconfig parses the values. What it lets pass is checked here: a required variable that is set
// but empty, a default that a set but empty variable hides, a negative duration, an octal number,
// a mistyped name.
//
// No setting of ordertally is a secret (credentials come from the platform), so a message shows
// the value that it refuses.
package settings

import (
	"slices"
	"strings"
)

// A Spec is one struct of settings and the prefix of its variables.
//
// Each exported field names its variable, without the prefix, in the tag envconfig; an embedded
// struct's fields count as the struct's own. The types are string, []string (separated by
// commas), int, bool and time.Duration. Other tags:
//
//	default:"10"       the value of a variable that is not set; without it the field stays as it is
//	required:"true"    the variable must be set
//	empty:"true"       the variable may be set to nothing, which means the zero value
//	min:"1" max:"450"  the range of an int or a duration; a duration's min is 0s where none is given
//
// A mistake in a Spec is the programmer's, and panics.
type Spec struct {
	Prefix string // Such as WORKER. Empty: the variables are shared with other programs.
	Into   any    // A pointer to a struct.
}

// A Validator is a struct of settings that checks what no single field can. Validate returns a
// line for each problem, which begins with the variable. A field whose variable has a problem by
// itself holds its default, and what Validate says of that variable is left out.
type Validator interface{ Validate() []string }

// Problems is the error that Load returns: one line for each problem, naming the variable.
type Problems []string

func (p Problems) Error() string { return strings.Join(p, "\n") }

// Load fills the structs of all specs from the process's environment. The error is of type
// Problems, and holds all of them. A variable that begins with the prefix of a spec and is not in
// any of the structs is a problem too.
func Load(specs ...Spec) error {
	var all Problems
	var known []string
	for _, s := range specs {
		fields := fieldsOf(s)
		for _, f := range fields {
			known = append(known, f.name)
		}
		all = append(all, fill(s.Into, fields)...)
	}
	all = append(all, unknown(specs, known)...)
	if len(all) == 0 {
		return nil
	}
	return all
}

func fill(into any, fields []field) (problems []string) {
	for _, f := range fields {
		if problem := f.load(); problem != "" {
			problems = append(problems, f.name+" "+problem)
		}
	}
	v, ok := into.(Validator)
	if !ok {
		return problems
	}
	seen := slices.Clone(problems)
	for _, p := range v.Validate() {
		if !slices.ContainsFunc(seen, func(s string) bool { return variable(s) == variable(p) }) {
			problems = append(problems, p)
		}
	}
	return problems
}

// variable is what a problem begins with.
func variable(problem string) string {
	end := strings.IndexFunc(problem, func(r rune) bool { return r == ' ' || r == ':' })
	return problem[:max(0, end)]
}
