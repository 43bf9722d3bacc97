// Render writes the table of docs/exactness.md from what the tests have recorded.
//
//	go run ./internal/evidence/render evidence.jsonl docs/exactness.md
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/atlasmart/ordertally/internal/evidence"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "render:", err)
		os.Exit(1)
	}
}

func run(args []string) (err error) {
	if len(args) != 2 {
		return errors.New("want two arguments: the recorded lines and the page")
	}
	lines, err := os.Open(args[0])
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lines.Close()) }()
	page, err := os.ReadFile(args[1])
	if err != nil {
		return err
	}
	page, err = evidence.Render(page, lines)
	if err != nil {
		return err
	}
	return os.WriteFile(args[1], page, 0o644)
}
