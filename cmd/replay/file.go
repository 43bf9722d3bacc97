package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"cloud.google.com/go/pubsub/v2"
)

// maxLine is the longest line of a .jsonl file. A request takes 10 MB, the topic's name and the
// framing included (https://cloud.google.com/pubsub/quotas#resource_limits): what is longer would
// fail only when it is published, after others were.
const maxLine = pubsub.MaxPublishRequestBytes - 1<<10

// readFile reads the message bodies of a file, and checks all of it before anything is published.
func readFile(path string) ([][]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading orders: %w", err)
	}
	defer f.Close()
	read := readLines
	if filepath.Ext(path) == ".csv" {
		read = readCSV
	}
	bodies, err := read(f)
	if err != nil {
		return nil, fmt.Errorf("reading orders from %s: %w", path, err)
	}
	if len(bodies) == 0 {
		return nil, fmt.Errorf("reading orders from %s: there are none", path)
	}
	return bodies, nil
}

// readLines takes each line that is not blank as a body, byte for byte: also one that the worker
// will refuse, since that is worth a trial too.
func readLines(r io.Reader) ([][]byte, error) {
	var bodies [][]byte
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 1<<16), maxLine+3) // its end may be two bytes
	n := 1
	for ; lines.Scan() && len(lines.Bytes()) <= maxLine; n++ {
		if len(bytes.TrimSpace(lines.Bytes())) > 0 {
			bodies = append(bodies, bytes.Clone(lines.Bytes()))
		}
	}
	err := lines.Err()
	if errors.Is(err, bufio.ErrTooLong) || err == nil && len(lines.Bytes()) > maxLine {
		return nil, fmt.Errorf("line %d is longer than a message may be", n)
	}
	return bodies, err
}
