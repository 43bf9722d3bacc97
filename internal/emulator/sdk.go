package emulator

import (
	"context"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const install = `install the emulators with
	gcloud components install cloud-firestore-emulator pubsub-emulator
or, on Debian and Ubuntu, with the packages google-cloud-cli-firestore-emulator and
google-cloud-cli-pubsub-emulator; both need a Java 17+ runtime. Or name running ones in
FIRESTORE_EMULATOR_HOST and PUBSUB_EMULATOR_HOST`

// sdkRoots yields where the Cloud SDK may be, the cheapest to find first: gcloud
// itself takes a second to say where it is installed.
func sdkRoots(ctx context.Context) iter.Seq[string] {
	return func(yield func(string) bool) {
		if root := os.Getenv("CLOUDSDK_ROOT"); root != "" && !yield(root) {
			return
		}
		gcloud, err := exec.LookPath("gcloud")
		if err == nil && !yield(rootOfBinary(gcloud)) {
			return
		}
		if !yield("/usr/lib/google-cloud-sdk") || err != nil {
			return
		}
		out, err := exec.CommandContext(ctx, gcloud,
			"info", "--format=value(installation.sdk_root)").Output()
		if err == nil {
			yield(strings.TrimSpace(string(out)))
		}
	}
}

// rootOfBinary returns the root whose bin/gcloud is what the link on the PATH leads to.
func rootOfBinary(gcloud string) string {
	if real, err := filepath.EvalSymlinks(gcloud); err == nil {
		gcloud = real
	}
	return filepath.Dir(filepath.Dir(gcloud))
}

func findLauncher(roots iter.Seq[string], launcher string) (string, error) {
	for root := range roots {
		path := filepath.Join(root, launcher)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s is not in any Cloud SDK here: %s", filepath.Base(launcher), install)
}

// findJava follows JAVA_HOME where it is set, as the Pub/Sub launcher does by itself
// and the Firestore launcher does not.
func findJava() (string, error) {
	name := "java"
	if home := os.Getenv("JAVA_HOME"); home != "" {
		name = filepath.Join(home, "bin", "java")
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("looking for java: %w: %s", err, install)
	}
	return path, nil
}
