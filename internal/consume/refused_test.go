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
	"go.uber.org/zap"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/atlasmart/ordertally/internal/counter"
)

// A scripted Firestore takes the commits that its script lets pass, keeps nothing, and so has no
// document.
type scripted struct {
	firestorepb.UnimplementedFirestoreServer
	script func(*firestorepb.CommitRequest) error
}

func (scripted) BeginTransaction(
	context.Context, *firestorepb.BeginTransactionRequest,
) (*firestorepb.BeginTransactionResponse, error) {
	return &firestorepb.BeginTransactionResponse{Transaction: []byte("tx")}, nil
}

func (scripted) Rollback(
	context.Context, *firestorepb.RollbackRequest,
) (*emptypb.Empty, error) {
	return &emptypb.Empty{}, nil
}

func (s scripted) Commit(
	_ context.Context, req *firestorepb.CommitRequest,
) (*firestorepb.CommitResponse, error) {
	if err := s.script(req); err != nil {
		return nil, err
	}
	res := &firestorepb.CommitResponse{CommitTime: timestamppb.Now()}
	for range req.Writes {
		res.WriteResults = append(res.WriteResults,
			&firestorepb.WriteResult{UpdateTime: timestamppb.Now()})
	}
	return res, nil
}

func (scripted) BatchGetDocuments(
	req *firestorepb.BatchGetDocumentsRequest,
	answers firestorepb.Firestore_BatchGetDocumentsServer,
) error {
	for _, name := range req.GetDocuments() {
		err := answers.Send(&firestorepb.BatchGetDocumentsResponse{ReadTime: timestamppb.Now(),
			Result: &firestorepb.BatchGetDocumentsResponse_Missing{Missing: name}})
		if err != nil {
			return err
		}
	}
	return nil
}

// newScripted returns a counter at a scripted Firestore: the real one, since only it can say why
// an order is refused.
func newScripted(
	t *testing.T, log *zap.Logger, script func(*firestorepb.CommitRequest) error,
) *counter.Counter {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	firestorepb.RegisterFirestoreServer(server, scripted{script: script})
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
		counter.Options{GroupMax: 10, MarkerTTL: time.Hour, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// TestConsume_refused sends an order that Firestore refuses for good to the dead letters.
func TestConsume_refused(t *testing.T) {
	t.Parallel()
	e := newEdge(t, newScripted(t, nil, func(*firestorepb.CommitRequest) error {
		return status.Error(codes.InvalidArgument, "an index entry is too large")
	}))
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
