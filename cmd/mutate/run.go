package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/atlasmart/ordertally/internal/settings"
)

//go:embed mutants.txt
var mutantsText string

// run carries out one invocation.
func run(ctx context.Context, args []string, stdout io.Writer) error {
	set := flag.NewFlagSet("mutate", flag.ContinueOnError)
	set.SetOutput(stdout)
	pattern := set.String("run", "", "only the mutants whose names match this `regexp`")
	list := set.Bool("list", false, "list the mutants and why each of them matters")
	if err := set.Parse(args); errors.Is(err, flag.ErrHelp) {
		return err
	} else if err != nil || set.NArg() > 0 {
		return settings.Problems{"mutate: mutate -h shows how it is used"}
	}
	only, err := regexp.Compile(*pattern)
	if err != nil {
		return settings.Problems{fmt.Sprintf("mutate: -run: %v", err)}
	}
	all, err := parseMutants(mutantsText)
	if err != nil {
		return err
	}
	var chosen []mutant
	for _, m := range all {
		if only.MatchString(m.name) {
			chosen = append(chosen, m)
		}
	}
	if *list {
		return listAll(stdout, chosen)
	}
	return tryAll(ctx, stdout, chosen, goTest)
}

func listAll(w io.Writer, mutants []mutant) error {
	for _, m := range mutants {
		if _, err := fmt.Fprintf(w, "%s (%s)\n    %s\n", m.name, m.file, m.why); err != nil {
			return err
		}
	}
	return nil
}

// A tester runs go test with arguments, and returns its output and whether it passed.
type tester func(ctx context.Context, args ...string) (output string, passed bool)

// tryAll tries each mutant, and prints what became of it.
func tryAll(ctx context.Context, w io.Writer, mutants []mutant, test tester) error {
	dir, err := os.MkdirTemp("", "ordertally-mutate-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := sound(ctx, mutants, test); err != nil {
		return err
	}
	killed, start := 0, time.Now()
	for _, m := range mutants {
		began := time.Now()
		v := m.try(ctx, dir, test)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if v.killed {
			killed++
		}
		fmt.Fprintf(w, "%-9s %s: %s (%.0f s)\n", v.word(), m.name, v.by, time.Since(began).Seconds())
	}
	fmt.Fprintf(w, "killed %d/%d in %v\n", killed, len(mutants), time.Since(start).Round(time.Second))
	if killed < len(mutants) {
		return fmt.Errorf("%d of %d mutants were not killed", len(mutants)-killed, len(mutants))
	}
	return nil
}

// sound wants the tests to pass without a mutant: else they would kill whatever it is.
func sound(ctx context.Context, mutants []mutant, test tester) error {
	seen := map[string]bool{}
	for _, m := range mutants {
		key := strings.Join(m.test, " ")
		if seen[key] {
			continue
		}
		seen[key] = true
		if out, passed := test(ctx, m.test...); !passed && ctx.Err() == nil {
			return fmt.Errorf("go test %s fails without a mutant:\n%s", key, out)
		}
	}
	return ctx.Err()
}
