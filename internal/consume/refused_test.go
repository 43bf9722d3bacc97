package consume

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/atlasmart/ordertally/internal/counter"
)

// refusing is a Firestore that takes no commit.
type refusing struct {
	firestorepb.UnimplementedFirestoreServer
}

func (refusing) BeginTransaction(
	context.Context, *firestorepb.BeginTransactionRequest,
) (*firestorepb.BeginTransactionResponse, error) {
	return &firestorepb.BeginTransactionResponse{Transaction: []byte("tx")}, nil
}

func (refusing) Rollback(
	context.Context, *firestorepb.RollbackRequest,
) (*emptypb.Empty, error) {
	return &emptypb.Empty{}, nil
}

func (refusing) Commit(
	context.Context, *firestorepb.CommitRequest,
) (*firestorepb.CommitResponse, error) {
	return nil, status.Error(codes.InvalidArgument, "an index entry is too large")
}

// newRefused returns a counter at a Firestore that takes no commit: the real one, since only it
// can say why an order is refused.
func newRefused(t *testing.T) *counter.Counter {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	firestorepb.RegisterFirestoreServer(server, refusing{})
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-served; err != nil {
			t.Errorf("serving: %v", err)
		}
	})
	conn, err := grpc.NewClient("passthrough:///"+listener.Addr().String(), grpc.WithNoProxy(),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	client, err := firestore.NewClient(context.Background(), "p", option.WithGRPCConn(conn))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closing(t, client) })
	c, err := counter.New(client, "c", counter.Definition{Shards: 1, Location: time.UTC},
		counter.Options{GroupMax: 10, MarkerTTL: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// TestConsume_refused sends an order that Firestore refuses for good to the dead letters.
func TestConsume_refused(t *testing.T) {
	t.Parallel()
	e := newEdge(t, newRefused(t))
	e.cfg.DeadLetterTopic = deadTopic
	e.run()
	id := e.publishOrder("ord-1")
	e.eventuallyAcked(id)
	e.drained()
	dead := e.deadLetters()
	if len(dead) != 1 || string(dead[0].Data) != `{"orderId":"ord-1"}` {
		t.Fatalf("dead letters: %v, want the order", dead)
	}
	reason := dead[0].Attributes["ordertally-reason"]
	if !strings.HasPrefix(reason, "Firestore refuses the order: ") ||
		!strings.HasSuffix(reason, "desc = an index entry is too large") {
		t.Errorf("reason %q, want what Firestore answered", reason)
	}
	if diff := cmp.Diff(map[string]int64{"dead_lettered": 1}, e.results()); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	if n := e.logs.FilterMessage("Firestore refuses an order").Len(); n != 1 {
		t.Errorf("%d log lines about it, want 1", n)
	}
}
