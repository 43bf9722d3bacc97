package emulator

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestFindLauncher(t *testing.T) {
	t.Parallel()
	empty, sdk := t.TempDir(), t.TempDir()
	want := filepath.Join(sdk, "launcher")
	if err := os.WriteFile(want, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	got, err := findLauncher(slices.Values([]string{empty, sdk}), "launcher")
	if err != nil || got != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	_, err = findLauncher(slices.Values([]string{empty}), "launcher")
	if err == nil || !strings.Contains(err.Error(), "gcloud components install") {
		t.Errorf("the error does not tell how to install it: %v", err)
	}
}

func TestSDKRoots_asksGcloudLast(t *testing.T) {
	bin := t.TempDir()
	script := "#!/bin/sh\necho /opt/sdk\n"
	if err := os.WriteFile(filepath.Join(bin, "gcloud"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	t.Setenv("CLOUDSDK_ROOT", "/named")
	got := slices.Collect(sdkRoots(t.Context()))
	resolved, err := filepath.EvalSymlinks(filepath.Dir(bin))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"/named", resolved, "/usr/lib/google-cloud-sdk", "/opt/sdk"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestFindJava_isNotThere(t *testing.T) {
	t.Setenv("JAVA_HOME", t.TempDir())
	_, err := findJava()
	if err == nil || !strings.Contains(err.Error(), "Java 17+") {
		t.Errorf("the error does not tell what to install: %v", err)
	}
}
