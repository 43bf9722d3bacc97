package fault_test

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/atlasmart/ordertally/internal/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A server answers Check, and Watch once, and keeps the stream open.
type server struct {
	grpc_health_v1.UnimplementedHealthServer
	calls atomic.Int64
}

func (s *server) Check(
	context.Context, *grpc_health_v1.HealthCheckRequest,
) (*grpc_health_v1.HealthCheckResponse, error) {
	s.calls.Add(1)
	return &grpc_health_v1.HealthCheckResponse{}, nil
}

func (s *server) Watch(
	_ *grpc_health_v1.HealthCheckRequest,
	stream grpc.ServerStreamingServer[grpc_health_v1.HealthCheckResponse],
) error {
	s.calls.Add(1)
	if err := stream.Send(&grpc_health_v1.HealthCheckResponse{}); err != nil {
		return err
	}
	<-stream.Context().Done()
	return status.FromContextError(stream.Context().Err()).Err()
}

// dial returns a client of a server of its own, on the wire.
func dial(t *testing.T, w *fault.Wire) (grpc_health_v1.HealthClient, *server) {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s, g := &server{}, grpc.NewServer()
	grpc_health_v1.RegisterHealthServer(g, s)
	var serving sync.WaitGroup
	serving.Go(func() { _ = g.Serve(lis) })
	conn, err := grpc.NewClient("passthrough:///"+lis.Addr().String(), append(w.Options(),
		grpc.WithNoProxy(), grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close()
		g.Stop()
		serving.Wait()
	})
	return grpc_health_v1.NewHealthClient(conn), s
}

const (
	soon     = 20 * time.Millisecond
	patience = 5 * soon // of the callers: then a stream that is sound ends too
)

func TestFaults(t *testing.T) {
	const none = codes.OK
	check := []string{"Check"}
	for _, tt := range []struct {
		rule          fault.Rule
		unary, stream codes.Code    // that the caller gets
		calls         int64         // that the server sees of the two
		hits          int           // of the rule
		least         time.Duration // that the unary call takes
	}{
		{fault.Rule{Kind: fault.Refuse, Code: codes.Aborted}, codes.Aborted, codes.Aborted, 0, 2, 0},
		{fault.Rule{Kind: fault.Lose, Code: codes.Internal}, codes.Internal, codes.Internal, 2, 2, 0},
		{fault.Rule{Kind: fault.Hang}, codes.DeadlineExceeded, codes.DeadlineExceeded, 0, 2, patience},
		{fault.Rule{Kind: fault.Hang, For: soon}, codes.Unavailable, codes.Unavailable, 0, 2, soon},
		{fault.Rule{Kind: fault.Mute}, codes.DeadlineExceeded, codes.DeadlineExceeded, 2, 2, patience},
		{fault.Rule{Kind: fault.Slow, For: soon}, none, codes.DeadlineExceeded, 2, 2, soon},
		{fault.Rule{Kind: fault.Break, Code: codes.Unknown, For: soon}, none, codes.Unknown, 2, 1, 0},
		{fault.Rule{Kind: fault.Down, For: time.Hour}, codes.Unavailable, codes.Unavailable, 0, 2, 0},
		{fault.Rule{Kind: fault.Refuse, Code: codes.Aborted, Methods: check},
			codes.Aborted, codes.DeadlineExceeded, 1, 1, 0},
		{fault.Rule{Kind: fault.Lose, Code: codes.Aborted, Times: 1},
			codes.Aborted, codes.DeadlineExceeded, 2, 1, 0},
	} {
		t.Run(string(tt.rule.Kind), func(t *testing.T) {
			w := fault.New(1, tt.rule)
			client, server := dial(t, w)
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			start := time.Now()
			_, err := client.Check(ctx, &grpc_health_v1.HealthCheckRequest{})
			if status.Code(err) != tt.unary || time.Since(start) < tt.least {
				t.Errorf("a call: %v after %v, want %v", err, time.Since(start), tt.unary)
			}
			ctx, cancel = context.WithTimeout(t.Context(), patience)
			defer cancel()
			if err := watch(ctx, client); status.Code(err) != tt.stream {
				t.Errorf("a stream: %v, want %v", err, tt.stream)
			}
			if n := server.calls.Load(); n != tt.calls {
				t.Errorf("the server saw %d calls, want %d", n, tt.calls)
			}
			if diff := cmp.Diff(map[fault.Kind]int{tt.rule.Kind: tt.hits}, w.Counts()); diff != "" {
				t.Errorf("counts (-want +got):\n%s", diff)
			}
		})
	}
}

// watch reads a stream until it ends.
func watch(ctx context.Context, client grpc_health_v1.HealthClient) error {
	s, err := client.Watch(ctx, &grpc_health_v1.HealthCheckRequest{})
	for err == nil {
		_, err = s.Recv()
	}
	return err
}

// TestSeed wants the same seed to break the same calls, and about the share of them.
func TestSeed(t *testing.T) {
	run := func(seed uint64) (broken []int) {
		w := fault.New(seed, fault.Rule{Kind: fault.Refuse, Code: codes.Unknown, Share: 0.25})
		client, _ := dial(t, w)
		for i := range 200 {
			if _, err := client.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{}); err != nil {
				broken = append(broken, i)
			}
		}
		if len(broken) != w.Total() {
			t.Errorf("%d calls broke, and %d were counted", len(broken), w.Total())
		}
		return broken
	}
	first := run(7)
	if n := len(first); n < 30 || n > 70 { // more than three standard deviations
		t.Errorf("%d of 200 calls broke, want about 50", n)
	}
	if diff := cmp.Diff(first, run(7)); diff != "" {
		t.Errorf("the same seed again (-first +second):\n%s", diff)
	}
	if cmp.Equal(first, run(8)) {
		t.Error("another seed breaks the same calls")
	}
}

// TestCut takes the server away under an open stream and a call in flight, and heals the wire.
func TestCut(t *testing.T) {
	w := fault.New(1, fault.Rule{Kind: fault.Slow, Methods: []string{"Check"}})
	client, _ := dial(t, w)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s, err := client.Watch(ctx, &grpc_health_v1.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Recv(); err != nil {
		t.Fatal(err)
	}
	flight := make(chan error)
	go func() {
		_, err := client.Check(ctx, &grpc_health_v1.HealthCheckRequest{})
		flight <- err
	}()
	for w.Counts()[fault.Slow] == 0 {
		time.Sleep(time.Millisecond)
	}
	w.Cut(time.Hour)
	if _, err := s.Recv(); status.Code(err) != codes.Unavailable {
		t.Errorf("the open stream: %v, want Unavailable", err)
	}
	if _, err := client.Check(ctx, nil); status.Code(err) != codes.Unavailable {
		t.Errorf("a new call: %v, want Unavailable", err)
	}
	w.Heal()
	if err := <-flight; status.Code(err) != codes.Unavailable {
		t.Errorf("the call in flight: %v, want its answer lost", err)
	}
	if _, err := client.Check(ctx, &grpc_health_v1.HealthCheckRequest{}); err != nil {
		t.Errorf("healed: %v", err)
	}
}

func TestBreak(t *testing.T) {
	w := fault.New(1)
	client, server := dial(t, w)
	ended := make(chan error)
	go func() { ended <- watch(t.Context(), client) }()
	for server.calls.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	for w.Counts()[fault.Break] == 0 {
		w.Break(codes.OutOfRange)
	}
	if err := <-ended; status.Code(err) != codes.OutOfRange {
		t.Errorf("%v, want OutOfRange", err)
	}
}
