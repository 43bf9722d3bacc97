package counter

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/atlasmart/ordertally/internal/emulator/emulatortest"
)

const (
	// emulatorRequest is the largest request that the emulator takes; Firestore takes 10 MiB
	// (https://cloud.google.com/firestore/quotas). The client repeats what is larger until the
	// deadline, which looks like a hang.
	emulatorRequest = 4 << 20

	// longNames is what the longest names of a project (30 bytes) and a database (63) add to a
	// document's path, at most.
	longNames = 30 + 63
)

// A scale keeps the size of the largest request.
type scale struct {
	mu      sync.Mutex
	largest int
	method  string
}

func (s *scale) weigh(method string, req any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m, ok := req.(proto.Message); ok && proto.Size(m) > s.largest {
		s.largest, s.method = proto.Size(m), method
	}
}

func (s *scale) unary(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn,
	invoke grpc.UnaryInvoker, opts ...grpc.CallOption,
) error {
	s.weigh(method, req)
	return invoke(ctx, method, req, reply, cc, opts...)
}

func (s *scale) stream(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn,
	method string, open grpc.Streamer, opts ...grpc.CallOption,
) (grpc.ClientStream, error) {
	stream, err := open(ctx, desc, cc, method, opts...)
	return weighed{stream, s, method}, err
}

type weighed struct {
	grpc.ClientStream
	scale  *scale
	method string
}

// SendMsg implements grpc.ClientStream.
func (w weighed) SendMsg(m any) error {
	w.scale.weigh(w.method, m)
	return w.ClientStream.SendMsg(m)
}

// TestTheLargestGroup fills a group to its limit with orders that are as long as they may be, of
// 400 days, and weighs what the counter sends. The largest request there can be stays below a
// third of what the emulator takes, so no group is ever cut by its bytes.
func TestTheLargestGroup(t *testing.T) {
	t.Parallel()
	env, s := emulatortest.New(t), &scale{}
	client := env.Firestore(grpc.WithUnaryInterceptor(s.unary), grpc.WithStreamInterceptor(s.stream))
	name := strings.Repeat("c", 128)
	define(t, client, name, 1)
	const days = 400
	full := func(what string, i int) string {
		text := fmt.Sprint(what, "-", i, "-")
		return text + strings.Repeat("x", MaxIDBytes-len(text))
	}
	b := &batch{commit: nonces()()}
	for i := range MaxGroup {
		o := Order{ID: full("id", i), Source: full("source", i), MessageID: full("message", i),
			AcceptedAt: noon.AddDate(0, 0, -i%days), PublishedAt: noon}
		b.entries = append(b.entries, &entry{id: o.Event(name), order: o, day: Day(o.AcceptedAt, time.UTC)})
	}
	store := &fireStore{client: client, name: name, ttl: time.Hour}
	if err := store.commit(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	known, err := store.markers(t.Context(), (&group{batch: *b}).ids())
	if err != nil || len(known) != MaxGroup {
		t.Errorf("%d markers, %v, want %d", len(known), err, MaxGroup)
	}
	r, err := Read(t.Context(), client, name)
	if err != nil || r.Total() != MaxGroup || len(r.Days()) != days {
		t.Errorf("read %d orders of %d days, %v, want %d of %d", r.Total(), len(r.Days()), err,
			MaxGroup, days)
	}
	largest := s.largest + (MaxGroup+1)*longNames
	t.Logf("the largest request, %s, has %d bytes, and at most %d elsewhere",
		s.method, s.largest, largest)
	if s.largest < MaxGroup*3*MaxIDBytes || largest > emulatorRequest/3 {
		t.Errorf("the largest request has %d bytes, want the whole group in it, and at most %d",
			largest, emulatorRequest/3)
	}
}
