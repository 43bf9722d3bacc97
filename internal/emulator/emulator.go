package emulator

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	// startTimeout is many times what a JVM needs on a busy machine.
	startTimeout = 90 * time.Second
	// startAttempts bounds how often a port may be lost to another process between
	// being found free and being bound.
	startAttempts = 4
)

// Emulator is a running emulator.
type Emulator struct {
	// Addr is its host and port.
	Addr string

	group *group // Nil when somebody else started it.
}

// StartFirestore starts the Firestore emulator. Its output goes to a file in
// logDir; with an empty logDir the emulator is made quiet, as it otherwise formats
// a stack trace for each refused commit.
func StartFirestore(ctx context.Context, logDir string) (*Emulator, error) {
	return firestoreService.start(ctx, logDir)
}

// StartPubSub starts the Pub/Sub emulator, with its output as in StartFirestore.
func StartPubSub(ctx context.Context, logDir string) (*Emulator, error) {
	return pubSubService.start(ctx, logDir)
}

// Started reports whether this process started the emulator.
func (e *Emulator) Started() bool { return e.group != nil }

// Stop ends the emulator if it was started here, and returns when none of its
// processes is left. Later calls return what the first one did.
func (e *Emulator) Stop() error {
	if e.group == nil {
		return nil
	}
	return e.group.stop()
}

func (s service) start(ctx context.Context, logDir string) (*Emulator, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	java, err := findJava()
	if err != nil {
		return nil, err
	}
	launcher, err := findLauncher(sdkRoots(ctx), s.launcher)
	if err != nil {
		return nil, err
	}
	var e *Emulator
	for range startAttempts {
		e, err = s.startOnce(ctx, java, launcher, logDir)
		if !errors.Is(err, errPortTaken) {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("starting the %s emulator: %w", s.name, err)
	}
	return e, nil
}

func (s service) startOnce(ctx context.Context, java, launcher, logDir string) (*Emulator, error) {
	addr, err := s.freeAddr()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "ordertally-emulator-")
	if err != nil {
		return nil, err
	}
	output, env := filepath.Join(dir, "output"), []string{"JAVA=" + java}
	if logDir != "" {
		output = filepath.Join(logDir, s.logName())
	} else if env, err = quiet(env, dir); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	g, err := startGroup(dir, output, env, append([]string{launcher}, s.args(addr)...))
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err := g.await(ctx, s.ready, addr); err != nil {
		return nil, errors.Join(err, g.stop())
	}
	return &Emulator{Addr: addr, group: g}, nil
}

// logging silences java.util.logging, through which the emulators write all but
// the lines that tell how their start went.
const logging = `handlers=java.util.logging.ConsoleHandler
.level=SEVERE
com.google.cloud.pubsub.testing.v1.Main.level=INFO
`

// quiet adds to env what makes the JVM log next to nothing.
func quiet(env []string, dir string) ([]string, error) {
	path := filepath.Join(dir, "logging.properties")
	if err := os.WriteFile(path, []byte(logging), 0o600); err != nil {
		return nil, err
	}
	options := fmt.Sprintf(`%s "-Djava.util.logging.config.file=%s"`,
		os.Getenv("JAVA_TOOL_OPTIONS"), path)
	return append(env, "JAVA_TOOL_OPTIONS="+strings.TrimSpace(options)), nil
}
