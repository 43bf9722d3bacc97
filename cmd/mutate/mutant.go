package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// A mutant is one small fault in one file, and the tests that have to notice it.
type mutant struct {
	name, why, file string
	test            []string // go test's arguments
	old, new        string
}

// parseMutants reads the form that mutants.txt describes.
func parseMutants(text string) ([]mutant, error) {
	var all []mutant
	for block := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		if strings.HasPrefix(block, "#") {
			continue
		}
		m, err := parseMutant(block)
		if err != nil {
			return nil, fmt.Errorf("reading the mutant %q: %w", m.name, err)
		}
		all = append(all, m)
	}
	return all, nil
}

func parseMutant(block string) (m mutant, err error) {
	for line := range strings.SplitSeq(block, "\n") {
		key, value, _ := strings.Cut(line, ": ")
		switch {
		case strings.HasPrefix(line, "-"):
			m.old += line[1:] + "\n"
		case strings.HasPrefix(line, "+"):
			m.new += line[1:] + "\n"
		case key == "name":
			m.name = value
		case key == "why":
			m.why = value
		case key == "file":
			m.file = value
		case key == "test":
			m.test = strings.Fields(value)
		default:
			return m, fmt.Errorf("what is %q?", line)
		}
	}
	if m.name == "" || m.why == "" || m.file == "" || len(m.test) == 0 || m.old == "" {
		return m, fmt.Errorf("want a name, a why, a file, a test and lines to replace")
	}
	return m, nil
}

// try runs the mutant's tests on the mutant.
func (m mutant) try(ctx context.Context, dir string, test tester) verdict {
	overlay, err := m.overlay(dir)
	if err != nil {
		return verdict{by: err.Error()}
	}
	output, passed := test(ctx, append([]string{"-overlay", overlay}, m.test...)...)
	return judge(output, passed)
}

// overlay writes the mutant into dir, and returns what go test is to be given.
func (m mutant) overlay(dir string) (path string, err error) {
	file, err := filepath.Abs(m.file)
	if err != nil {
		return "", err
	}
	source, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(source), m.old); n != 1 {
		return "", fmt.Errorf("its lines are in the file %d times, want once", n)
	}
	mutated := filepath.Join(dir, "mutant.go")
	content := strings.Replace(string(source), m.old, m.new, 1)
	if err := os.WriteFile(mutated, []byte(content), 0o600); err != nil {
		return "", err
	}
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{file: mutated}})
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, replace, 0o600)
}
