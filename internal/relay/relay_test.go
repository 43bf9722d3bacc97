package relay

import (
	"context"
	"errors"
	"io"
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
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A server knows one service, says what it got, and keeps a stream open until the client ends it.
type server struct {
	grpc_health_v1.UnimplementedHealthServer
	authorization chan []string
	ended         chan struct{}
}

func (s *server) Check(
	ctx context.Context, req *grpc_health_v1.HealthCheckRequest,
) (*grpc_health_v1.HealthCheckResponse, error) {
	if req.Service != "known" {
		return nil, status.Errorf(codes.NotFound, "no service %q", req.Service)
	}
	md, _ := metadata.FromIncomingContext(ctx)
	s.authorization <- md.Get("authorization")
	return &grpc_health_v1.HealthCheckResponse{Status: grpc_health_v1.HealthCheckResponse_SERVING}, nil
}

func (s *server) Watch(
	req *grpc_health_v1.HealthCheckRequest,
	stream grpc.ServerStreamingServer[grpc_health_v1.HealthCheckResponse],
) error {
	defer close(s.ended)
	for range 2 {
		if err := stream.Send(&grpc_health_v1.HealthCheckResponse{}); err != nil {
			return err
		}
	}
	if req.Service == "short" {
		return nil
	}
	<-stream.Context().Done()
	return stream.Context().Err()
}

// listen returns a client whose calls reach the server through a relay.
func listen(t *testing.T, tap Tap, opts ...grpc.DialOption) (grpc_health_v1.HealthClient, *server) {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{authorization: make(chan []string, 1), ended: make(chan struct{})}
	g := grpc.NewServer()
	grpc_health_v1.RegisterHealthServer(g, s)
	var serving sync.WaitGroup
	serving.Go(func() { _ = g.Serve(lis) })
	t.Cleanup(func() { g.Stop(); serving.Wait() })
	r, err := Start(lis.Addr().String(), tap, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Stop(); err != nil {
			t.Error(err)
		}
	})
	conn, err := grpc.NewClient("passthrough:///"+r.Addr, grpc.WithNoProxy(),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return grpc_health_v1.NewHealthClient(conn), s
}

func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func TestCall(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	see := func(what, method string, message []byte, into proto.Message) {
		mu.Lock()
		defer mu.Unlock()
		if err := proto.Unmarshal(message, into); err != nil {
			t.Error(err)
		}
		seen = append(seen, what+" "+method)
	}
	var asked, answered grpc_health_v1.HealthCheckRequest
	var unaries atomic.Int64
	client, s := listen(t, Tap{
		Request: func(_ context.Context, method string, message []byte) {
			see("request", method, message, &asked)
		},
		Answer: func(method string, request, message []byte) {
			see("answer", method, message, &grpc_health_v1.HealthCheckResponse{})
			see("to", method, request, &answered)
		},
	}, grpc.WithUnaryInterceptor(func(ctx context.Context, method string, req, reply any,
		conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		unaries.Add(1)
		return invoke(ctx, method, req, reply, conn, opts...)
	}))
	ctx := metadata.AppendToOutgoingContext(soon(t), "authorization", "Bearer owner")
	res, err := client.Check(ctx, &grpc_health_v1.HealthCheckRequest{Service: "known"})
	if err != nil || res.Status != grpc_health_v1.HealthCheckResponse_SERVING {
		t.Fatalf("%v, %v", res, err)
	}
	if diff := cmp.Diff([]string{"Bearer owner"}, <-s.authorization); diff != "" {
		t.Errorf("the server's authorization (-want +got):\n%s", diff)
	}
	_, err = client.Check(ctx, &grpc_health_v1.HealthCheckRequest{Service: "unknown"})
	if got := status.Convert(err); got.Code() != codes.NotFound || got.Message() != `no service "unknown"` {
		t.Errorf("the error is %v, want the server's", err)
	}
	const check = grpc_health_v1.Health_Check_FullMethodName
	want := []string{"request " + check, "answer " + check, "to " + check, "request " + check}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("the tap saw (-want +got):\n%s", diff)
	}
	if answered.Service != "known" || asked.Service != "unknown" || unaries.Load() != 2 {
		t.Errorf("the tap saw %q answered and %q asked, the interceptor %d calls",
			answered.Service, asked.Service, unaries.Load())
	}
}

// TestCallOfTheDead has a client go while the server works, and wants the tap to see the answer.
func TestCallOfTheDead(t *testing.T) {
	asked, answered := make(chan struct{}), make(chan struct{})
	client, s := listen(t, Tap{
		Request: func(context.Context, string, []byte) { close(asked) },
		Answer:  func(string, []byte, []byte) { close(answered) },
	})
	s.authorization <- nil // the server waits until it is taken
	ctx, cancel := context.WithCancel(soon(t))
	defer cancel()
	go func() {
		<-asked
		cancel()
	}()
	_, err := client.Check(ctx, &grpc_health_v1.HealthCheckRequest{Service: "known"})
	if status.Code(err) != codes.Canceled {
		t.Fatalf("the client's call: %v, want it cancelled", err)
	}
	<-s.authorization
	select {
	case <-answered:
	case <-soon(t).Done():
		t.Error("the tap saw no answer")
	}
}

func TestStream(t *testing.T) {
	for _, service := range []string{"short", "long"} {
		t.Run(service, func(t *testing.T) {
			var answers atomic.Int64
			client, s := listen(t, Tap{Answer: func(_ string, request, _ []byte) {
				if request == nil {
					answers.Add(1)
				}
			}})
			ctx, cancel := context.WithCancel(soon(t))
			stream, err := client.Watch(ctx, &grpc_health_v1.HealthCheckRequest{Service: service})
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for ; err == nil; n++ {
				if n == 2 && service == "long" {
					cancel() // the client goes, and the server must hear of it
				}
				_, err = stream.Recv()
			}
			cancel()
			<-s.ended
			if n != 3 || answers.Load() != 2 {
				t.Errorf("%d answers and an end, and %d of them seen, want 2", n-1, answers.Load())
			}
		})
	}
}

// TestParting wants the server of a stream whose client is gone to see the end of its half, and not
// that the call was cancelled.
func TestParting(t *testing.T) {
	for _, who := range []string{"client", "relay"} {
		t.Run(who, func(t *testing.T) {
			ends := make(chan error, 1)
			addr := talk(t, ends)
			r, err := Start(addr, Tap{})
			if err != nil {
				t.Fatal(err)
			}
			stop := sync.OnceValue(r.Stop)
			t.Cleanup(func() {
				if err := stop(); err != nil {
					t.Error(err)
				}
			})
			conn, err := grpc.NewClient("passthrough:///"+r.Addr, grpc.WithNoProxy(),
				grpc.WithTransportCredentials(insecure.NewCredentials()))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			ctx, cancel := context.WithCancel(soon(t))
			defer cancel()
			stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true},
				"/test.Talk/Talk", grpc.ForceCodecV2(raw{}))
			if err != nil {
				t.Fatal(err)
			}
			word := []byte("hello")
			if err := errors.Join(stream.SendMsg(&word), stream.RecvMsg(&word)); err != nil {
				t.Fatal(err)
			}
			if who == "client" {
				cancel()
			} else if err := stop(); err != nil {
				t.Error(err)
			}
			if err := <-ends; !errors.Is(err, io.EOF) {
				t.Errorf("the server saw %v, want %v", err, io.EOF)
			}
		})
	}
}

// talk serves any stream with an echo, and says how its client's half ended.
func talk(t *testing.T, ends chan<- error) (addr string) {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := grpc.NewServer(grpc.ForceServerCodecV2(raw{}),
		grpc.UnknownServiceHandler(func(_ any, s grpc.ServerStream) error {
			for {
				var word []byte
				err := s.RecvMsg(&word)
				if err == nil {
					err = s.SendMsg(&word)
				}
				if err != nil {
					ends <- err
					return nil
				}
			}
		}))
	var serving sync.WaitGroup
	serving.Go(func() { _ = g.Serve(lis) })
	t.Cleanup(func() { g.Stop(); serving.Wait() })
	return lis.Addr().String()
}
