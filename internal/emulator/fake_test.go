package emulator

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fakeVariable makes this test binary an emulator that is ready in no time and can
// only say Ok.
const fakeVariable = "EMULATOR_TEST_FAKE"

func runFake(args []string) {
	port := strings.TrimPrefix(args[len(args)-1], "--port=")
	l, err := net.Listen("tcp", "127.0.0.1:"+port)
	if err == nil {
		fmt.Println(firestoreService.ready, pubSubService.ready)
		err = http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintln(w, "Ok")
		}))
	}
	fmt.Println(err)
	os.Exit(1)
}

// fakeSDK returns the root of a Cloud SDK in which each launcher is a script.
func fakeSDK(t *testing.T, script string) string {
	t.Helper()
	root := t.TempDir()
	for _, s := range []service{firestoreService, pubSubService} {
		path := filepath.Join(root, s.launcher)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// fakeScript does not exec, as the launcher of the Firestore emulator does not.
func fakeScript() string {
	return fmt.Sprintf("%s=1 %q \"$@\"\nexit $?\n", fakeVariable, os.Args[0])
}
