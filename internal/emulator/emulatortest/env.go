package emulatortest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/pubsub/v2"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
)

// callTimeout bounds the calls that Env makes itself: the clients retry an emulator
// that is gone for as long as they may.
const callTimeout = 30 * time.Second

// Env is what one test has of the emulators: a project that nobody else uses.
type Env struct {
	// Project is the id of the project. The emulators know every project unasked.
	Project string

	tb    testing.TB
	admin func() *pubsub.Client
}

// New returns an Env of its own to each test. With -short, which asks for the tests
// that need nothing but Go, it skips the test.
func New(tb testing.TB) *Env {
	tb.Helper()
	if testing.Short() {
		tb.Skip("-short: this test needs the emulators")
	}
	id := make([]byte, 6)
	rand.Read(id) // It never returns an error.
	e := &Env{Project: "t-" + hex.EncodeToString(id), tb: tb}
	e.admin = sync.OnceValue(func() *pubsub.Client { return e.PubSub() })
	return e
}

// Firestore returns a client on a connection of its own, on which opts such as
// interceptors take effect. The test's cleanup closes it.
func (e *Env) Firestore(opts ...grpc.DialOption) *firestore.Client {
	e.tb.Helper()
	conn := dial(e.tb, shared.firestore.address(e.tb), opts)
	defer hide(e.tb, "FIRESTORE_EMULATOR_HOST")()
	c, err := firestore.NewClient(e.tb.Context(), e.Project, option.WithGRPCConn(conn))
	if err != nil {
		e.tb.Fatal(err)
	}
	e.tb.Cleanup(func() { closing(e.tb, c) })
	return c
}

// PubSub returns a client on a connection of its own, as Firestore does.
func (e *Env) PubSub(opts ...grpc.DialOption) *pubsub.Client {
	e.tb.Helper()
	conn := dial(e.tb, shared.pubSub.address(e.tb), opts)
	defer hide(e.tb, "PUBSUB_EMULATOR_HOST")()
	c, err := pubsub.NewClient(e.tb.Context(), e.Project, option.WithGRPCConn(conn))
	if err != nil {
		e.tb.Fatal(err)
	}
	e.tb.Cleanup(func() { closing(e.tb, c) })
	return c
}

// FirestoreAddr returns the host and port of the Firestore emulator.
func (e *Env) FirestoreAddr() string {
	e.tb.Helper()
	return shared.firestore.address(e.tb)
}

// PubSubAddr returns the host and port of the Pub/Sub emulator.
func (e *Env) PubSubAddr() string {
	e.tb.Helper()
	return shared.pubSub.address(e.tb)
}

// Setenv leads a program that reads its settings from the environment to the
// emulators and the project, until the test ends. The test cannot be parallel.
func (e *Env) Setenv() {
	e.tb.Helper()
	e.tb.Setenv("FIRESTORE_EMULATOR_HOST", e.FirestoreAddr())
	e.tb.Setenv("PUBSUB_EMULATOR_HOST", e.PubSubAddr())
	e.tb.Setenv("GOOGLE_CLOUD_PROJECT", e.Project)
}

func (e *Env) context() (context.Context, context.CancelFunc) {
	return context.WithTimeout(e.tb.Context(), callTimeout)
}
