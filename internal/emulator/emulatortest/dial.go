package emulatortest

import (
	"context"
	"io"
	"math"
	"os"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
)

// dial returns a connection that its client closes. It waits at most a second
// between two attempts to connect, where gRPC's default grows to two minutes: a test
// that takes the emulator away wants to see it come back.
func dial(tb testing.TB, addr string, opts []grpc.DialOption) *grpc.ClientConn {
	tb.Helper()
	retry := grpc.ConnectParams{Backoff: backoff.DefaultConfig, MinConnectTimeout: 5 * time.Second}
	retry.Backoff.BaseDelay, retry.Backoff.MaxDelay = 100*time.Millisecond, time.Second
	own := []grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithPerRPCCredentials(owner{}),
		grpc.WithConnectParams(retry),
		grpc.WithNoProxy(),
		grpc.WithDefaultCallOptions(
			grpc.MaxCallRecvMsgSize(math.MaxInt32),
			grpc.MaxCallSendMsgSize(math.MaxInt32),
		),
	}
	conn, err := grpc.NewClient("passthrough:///"+addr, append(own, opts...)...)
	if err != nil {
		tb.Fatal(err)
	}
	return conn
}

// owner is who the Firestore emulator lets pass its security rules.
type owner struct{}

func (owner) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer owner"}, nil
}

func (owner) RequireTransportSecurity() bool { return false }

// hide takes a variable that Setenv has set out of the environment, for the reason
// that take tells, and returns what puts it back. Nothing runs at the same time: a
// test that sets variables cannot be parallel.
func hide(tb testing.TB, variable string) (restore func()) {
	value, ok := os.LookupEnv(variable)
	if !ok {
		return func() {}
	}
	os.Unsetenv(variable)
	return func() {
		if err := os.Setenv(variable, value); err != nil {
			tb.Error(err)
		}
	}
}

func closing(tb testing.TB, c io.Closer) {
	if err := c.Close(); err != nil {
		tb.Errorf("closing a client: %v", err)
	}
}
