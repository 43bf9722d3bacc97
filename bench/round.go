package main

import (
	"context"
	"fmt"
	"math"
	"time"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/pubsub/v2"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/atlasmart/ordertally/internal/counter"
	"github.com/atlasmart/ordertally/internal/emulator"
)

// A round is one pass through the stages on emulators of its own: the Firestore emulator gets
// slower and bigger with each version of a document, so no stage of a later round may pay for an
// earlier one.
type round struct {
	number int
	scale  float64 // of the number of orders
	calls  *calls
	fs     *firestore.Client
	ps     *pubsub.Client
	fsAddr string // of the Firestore emulator
	psAddr string // of the Pub/Sub emulator
	model  *model
	names  int
}

const project = "bench"

// newRound starts fresh emulators and warms them up.
func newRound(ctx context.Context, number int, scale float64, m *model) (*round, func() error, error) {
	pair, err := emulator.Start(ctx, "")
	if err != nil {
		return nil, nil, err
	}
	r := &round{number: number, scale: scale, calls: &calls{}, model: m,
		fsAddr: pair.Firestore.Addr, psAddr: pair.PubSub.Addr}
	if err := r.connect(ctx, pair); err != nil {
		return nil, nil, err
	}
	stop := func() error {
		_ = r.ps.Close() // the emulators end anyway
		_ = r.fs.Close()
		return pair.Stop()
	}
	return r, stop, r.warmUp(ctx)
}

func (r *round) connect(ctx context.Context, pair *emulator.Pair) error {
	unary := []grpc.UnaryClientInterceptor{r.calls.unary}
	if r.model != nil {
		unary = append(unary, r.model.unary)
	}
	conn, err := dial(pair.Firestore.Addr, grpc.WithChainUnaryInterceptor(unary...),
		grpc.WithChainStreamInterceptor(r.calls.stream, counter.MaskMarkers))
	if err != nil {
		return err
	}
	if r.fs, err = firestore.NewClient(ctx, project, option.WithGRPCConn(conn)); err != nil {
		return fmt.Errorf("connecting to Firestore: %w", err)
	}
	if conn, err = dial(pair.PubSub.Addr); err != nil {
		return err
	}
	if r.ps, err = pubsub.NewClient(ctx, project, option.WithGRPCConn(conn)); err != nil {
		return fmt.Errorf("connecting to Pub/Sub: %w", err)
	}
	return nil
}

// dial connects to an emulator by itself: the clients would ignore the interceptors.
func dial(addr string, opts ...grpc.DialOption) (*grpc.ClientConn, error) {
	return grpc.NewClient("passthrough:///"+addr, append(opts,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithPerRPCCredentials(owner{}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(math.MaxInt32)))...)
}

// owner is who the Firestore emulator lets pass its security rules.
type owner struct{}

func (owner) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer owner"}, nil
}

func (owner) RequireTransportSecurity() bool { return false }

// warmUpTime is what five minutes have to spare for it in a round. The JVMs compile what is hot:
// an order costs the Firestore emulator 1.0 ms of CPU at first, 0.15 ms after ten seconds and
// 0.11 ms after twenty.
const warmUpTime = 12 * time.Second

// warmUp lets the JVMs compile what the stages will use.
func (r *round) warmUp(ctx context.Context) error {
	deadline := time.Now().Add(warmUpTime)
	for time.Now().Before(deadline) {
		if _, err := r.endToEnd(ctx, 6000, groupDefault); err != nil {
			return err
		}
		if _, err := r.textbook(ctx, 300, 64); err != nil {
			return err
		}
	}
	return nil
}

func (r *round) orders(n int) int { return max(1, int(r.scale*float64(n))) }

// name returns a counter's name that no stage has used: a document's write cost grows with its
// versions on the emulator.
func (r *round) name(mode string) string {
	r.names++
	return fmt.Sprintf("%s-%d", mode, r.names)
}

// measure runs a stage's body and makes its record.
func (r *round) measure(rec record, body func() (run, error)) (record, error) {
	before := r.calls.now()
	res, err := body()
	after := r.calls.now()
	if err != nil {
		return record{}, fmt.Errorf("stage %s: %w", rec.Mode, err)
	}
	rec.Round, rec.Model, rec.Orders, rec.Errors = r.number, r.model, len(res.took), res.errors
	rec.ElapsedMs = float64(res.elapsed.Microseconds()) / 1000
	rec.PerSecond = float64(len(res.took)) / res.elapsed.Seconds()
	if res.before != nil {
		before = *res.before
	}
	rec.Commits, rec.Retries = after.commits-before.commits, after.failed-before.failed
	rec.Writes, rec.Reads = after.writes-before.writes, after.reads-before.reads
	rec.LatencyMs = distribution(res.took)
	return rec, nil
}
