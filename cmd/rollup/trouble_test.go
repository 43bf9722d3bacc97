package main

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/atlasmart/ordertally/internal/counter"
	"github.com/atlasmart/ordertally/internal/emulator/emulatortest"
)

// A trouble is a command and what it was doing when the world went wrong.
type trouble struct {
	args  string
	after int // calls that passed before
	doing string
}

// atOnce are all commands, with a world that was wrong from the start.
func atOnce() (all []trouble) {
	for _, args := range []string{"", "show", "check -max-age 5m", "audit", "audit -repair -yes", "recent",
		"cleanup -older-than 840h", "reshard -shards 5", "reshard -fold"} {
		all = append(all, trouble{args: args, doing: `reading counter "orders-today"`})
	}
	return all
}

// suffers invokes the command and wants one line, with the given beginning and the exit code 1.
func (c trouble) suffers(t *testing.T, opts []option.ClientOption, timeout, want string) {
	t.Helper()
	args := append(strings.Fields(c.args), "-timeout", timeout)
	start := time.Now()
	stdout, stderr, code := invokeOn(t, opts, args...)
	if !strings.HasPrefix(stderr, want) || strings.Contains(stderr, "\n") || stdout != "" || code != 1 {
		t.Errorf("%v: %q and exit code %d, want one line that begins with %q, and 1",
			args, stdout+stderr, code, want)
	}
	if took := time.Since(start); took > 30*time.Second {
		t.Errorf("%v took %v", args, took)
	}
}

func TestUnknownCounter(t *testing.T) {
	emulatortest.New(t).Setenv()
	for _, c := range atOnce() {
		c.suffers(t, nil, "20s", `no such counter: "orders-today"`)
	}
}

func TestNobodyListens(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	t.Setenv("FIRESTORE_EMULATOR_HOST", l.Addr().String())
	t.Setenv("GOOGLE_CLOUD_PROJECT", "nobody")
	for _, c := range atOnce() {
		t.Run("rollup "+c.args, func(t *testing.T) {
			t.Parallel()
			c.suffers(t, nil, "300ms", "waiting 300ms for the Firestore emulator at "+
				l.Addr().String()+": "+c.doing+": ")
		})
	}
}

func TestPermissionDenied(t *testing.T) {
	t.Setenv("FIRESTORE_EMULATOR_HOST", "")
	t.Setenv("GOOGLE_CLOUD_PROJECT", "closed")
	for _, c := range atOnce() {
		l := &line{refusal: status.Error(codes.PermissionDenied, "Missing or insufficient permissions.")}
		c.suffers(t, l.options(t), "20s", c.doing+": rpc error: code = PermissionDenied desc = "+
			"Missing or insufficient permissions.")
	}
}

// TestLostConnection cuts the connection for good, in the middle of each command.
func TestLostConnection(t *testing.T) {
	client := counted(t, 30)
	if _, err := counter.Reshard(t.Context(), client, "orders-today", 1, "me"); err != nil {
		t.Fatal(err)
	}
	addr := emulatortest.New(t).FirestoreAddr()
	t.Setenv("FIRESTORE_EMULATOR_HOST", "")
	for _, c := range []trouble{
		{"", 1, `reading the shards of "orders-today"`},
		{"", 5, `writing the rollup of "orders-today"`},
		{"show", 2, `reading the shards of "orders-today"`},
		{"audit", 4, `auditing counter "orders-today"`},
		{"reshard -shards 5", 1, `resharding "orders-today" to 5`},
		{"reshard -fold", 4, "folding shard "},
		{"check -max-age 5m", 0, `reading counter "orders-today"`}, // its only call
	} {
		t.Run("rollup "+c.args, func(t *testing.T) {
			t.Parallel()
			line := &line{addr: addr, after: c.after}
			c.suffers(t, line.options(t), "8s", "waiting 8s for Firestore: "+c.doing)
		})
	}
}

// A line is a connection that refuses its calls, or breaks for good after so many of them.
type line struct {
	addr    string
	after   int
	refusal error

	mu    sync.Mutex
	calls int
	conns []net.Conn
	cut   bool
}

func (l *line) options(t *testing.T) []option.ClientOption {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+l.addr, grpc.WithNoProxy(),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(l.dial),
		grpc.WithUnaryInterceptor(func(ctx context.Context, method string, req, reply any,
			cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption,
		) error {
			if err := l.call(ctx, cc); err != nil {
				return err
			}
			return invoke(ctx, method, req, reply, cc, opts...)
		}),
		grpc.WithStreamInterceptor(func(ctx context.Context, desc *grpc.StreamDesc,
			cc *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption,
		) (grpc.ClientStream, error) {
			if err := l.call(ctx, cc); err != nil {
				return nil, err
			}
			return open(ctx, desc, cc, method, opts...)
		}))
	if err != nil {
		t.Fatal(err)
	}
	return []option.ClientOption{option.WithGRPCConn(conn)}
}

func (l *line) dial(ctx context.Context, addr string) (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cut {
		return nil, errors.New("the line is cut")
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err == nil {
		l.conns = append(l.conns, conn)
	}
	return conn, err
}

// call lets a call pass until the line breaks. gRPC has noticed the break when it returns: what is
// sent into a connection that is just closing may fail at once, by the luck of the machine.
func (l *line) call(ctx context.Context, cc *grpc.ClientConn) error {
	if l.refusal != nil {
		return l.refusal
	}
	l.count()
	for l.isCut() && cc.GetState() == connectivity.Ready {
		cc.WaitForStateChange(ctx, connectivity.Ready)
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

func (l *line) count() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.calls++; l.calls > l.after {
		l.cut = true
		for _, c := range l.conns {
			c.Close()
		}
	}
}

func (l *line) isCut() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cut
}
