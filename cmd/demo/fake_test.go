package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// faultVariable names what the fake programs do wrong.
const faultVariable = "DEMO_TEST_FAULT"

// fakeBin returns a directory of programs that only claim to count. The race detector
// makes a program sleep for a second when it exits, unless it is told not to.
func fakeBin(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"worker", "rollup", "replay"} {
		script := fmt.Sprintf("#!/bin/sh\nGORACE=atexit_sleep_ms=0 %s=%s exec %q \"$@\"\n",
			programVariable, name, os.Args[0])
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// fault reports whether the fake is to do this wrong.
func fault(name string) bool { return os.Getenv(faultVariable) == name }

func runFake(name string, args []string) {
	wanted := map[string][]string{
		"worker": {"WORKER_SUBSCRIPTION=orders-worker", "WORKER_DEAD_LETTER_TOPIC=orders-dead"},
		"rollup": {"ROLLUP_COUNTER=orders-today"},
	}
	for _, setting := range wanted[name] {
		if !slices.Contains(os.Environ(), setting) {
			fmt.Println("the environment lacks", setting)
			os.Exit(2)
		}
	}
	switch {
	case name == "replay":
		fakeReplay(args)
	case len(args) > 0:
		fakeShow(args)
	default:
		fakeService(name)
	}
	os.Exit(0)
}

func fakeReplay(args []string) {
	want := "-topic orders -file orders.jsonl -times 2 -shuffle -verify -counter orders-today -json"
	if got := strings.Join(args, " "); got != want {
		fmt.Fprintln(os.Stderr, "replay got", got)
		os.Exit(2)
	}
	if fault("replay mismatches") {
		fmt.Println(`{"published":80,"orders":40,"total":41,"markers":40,"ok":false}`)
		os.Exit(1)
	}
	fmt.Println(`{"published":80,"orders":40,"total":40,"markers":40,"ok":true,"missing":0}`)
}

func fakeShow(args []string) {
	if slices.Contains(args, "-json") {
		fmt.Println(`{"counter":"orders-today","total":40,"exact":40}`)
	} else {
		fmt.Println("for people: 40")
	}
}

func fakeService(name string) {
	if fault(name + " ends early") {
		fmt.Println("the port is taken")
		os.Exit(1)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	go func() {
		fmt.Println(http.ListenAndServe(os.Getenv(strings.ToUpper(name)+"_LISTEN"),
			http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})))
		os.Exit(1)
	}()
	<-ctx.Done()
	if fault(name + " cannot drain") {
		fmt.Println("had to nack 3 messages")
		os.Exit(1)
	}
}
