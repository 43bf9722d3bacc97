package emulator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
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

// StartFirestore starts the Firestore emulator. What it writes is in logDir, or
// nowhere if logDir is empty, and is little: see logging.
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
	g, err := s.launch(java, launcher, addr, dir, logDir)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err := g.await(ctx, s.ready, addr); err != nil {
		return nil, errors.Join(err, g.stop())
	}
	return &Emulator{Addr: addr, group: g}, nil
}

func (s service) launch(java, launcher, addr, dir, logDir string) (*group, error) {
	output := filepath.Join(cmp.Or(logDir, dir), s.logName())
	options, err := quiet(dir)
	if err != nil {
		return nil, err
	}
	env := []string{"JAVA=" + java, "JAVA_TOOL_OPTIONS=" + options}
	return startGroup(dir, output, env, append([]string{launcher}, s.args(addr)...))
}

// logging leaves of what goes through java.util.logging only how the start went.
// The Firestore emulator would otherwise format a stack trace for each commit that a
// precondition refuses, and for an orders stream these are many.
const logging = `handlers=java.util.logging.ConsoleHandler
.level=SEVERE
com.google.cloud.pubsub.testing.v1.Main.level=INFO
`

// heap suits what the emulators do with memory: a small part of it is garbage at once, and the
// rest, a version of each document, is kept for ever. By default a JVM copies the latter up to
// fifteen times, and every other stage of the lab then takes twice as long as the one before.
const heap = "-XX:+UseSerialGC -Xms1500m -Xmn96m -XX:MaxTenuringThreshold=1"

// quiet returns the options of a JVM that follows logging and heap, unless the caller's own
// options say otherwise: the last one counts.
func quiet(dir string) (string, error) {
	path := filepath.Join(dir, "logging.properties")
	if err := os.WriteFile(path, []byte(logging), 0o600); err != nil {
		return "", err
	}
	return fmt.Sprintf(`"-Djava.util.logging.config.file=%s" %s %s`,
		path, heap, os.Getenv("JAVA_TOOL_OPTIONS")), nil
}
