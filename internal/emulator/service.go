package emulator

import (
	"fmt"
	"net"
	"path/filepath"
	"strings"
)

// service is what is particular to one of the two emulators.
type service struct {
	name     string
	variable string // Names a running one in every Google client.
	launcher string // Below the root of the Cloud SDK.
	command  string // Precedes the launcher's flags.

	// ready is what the emulator writes when it has bound its port. An answer on the
	// port alone may come from another process that was quicker to bind it.
	ready string

	freeAddr func() (string, error)
}

var (
	firestoreService = service{
		name:     "Firestore",
		variable: "FIRESTORE_EMULATOR_HOST",
		launcher: filepath.Join("platform", "cloud-firestore-emulator", "cloud_firestore_emulator"),
		command:  "start",
		ready:    "Dev App Server is now running",
		freeAddr: FreeAddr,
	}
	pubSubService = service{
		name:     "Pub/Sub",
		variable: "PUBSUB_EMULATOR_HOST",
		launcher: filepath.Join("platform", "pubsub-emulator", "bin", "cloud-pubsub-emulator"),
		ready:    "Server started, listening on",
		freeAddr: FreeAddr,
	}
)

func (s service) args(addr string) []string {
	host, port, _ := net.SplitHostPort(addr)
	args := []string{"--host=" + host, "--port=" + port}
	if s.command != "" {
		args = append([]string{s.command}, args...)
	}
	return args
}

func (s service) logName() string {
	return strings.ToLower(strings.ReplaceAll(s.name, "/", "")) + "-emulator.log"
}

// FreeAddr returns a loopback address whose port was free a moment ago. Another
// process may take it at any time, so what binds it must be ready to lose it.
func FreeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("finding a free port: %w", err)
	}
	defer l.Close()
	return l.Addr().String(), nil
}
