package counter

import (
	"context"
	"maps"
	"slices"
	"sync"
	"testing"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"

	"github.com/atlasmart/ordertally/internal/emulator/emulatortest"
)

// A spy notes the fields of the documents that come.
type spy struct {
	mu     sync.Mutex
	fields [][]string
}

func (s *spy) stream(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string,
	streamer grpc.Streamer, opts ...grpc.CallOption,
) (grpc.ClientStream, error) {
	stream, err := streamer(ctx, desc, cc, method, opts...)
	return spied{stream, s}, err
}

type spied struct {
	grpc.ClientStream
	*spy
}

func (s spied) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	if r, ok := m.(*firestorepb.BatchGetDocumentsResponse); ok && r.GetFound() != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.fields = append(s.fields, slices.Sorted(maps.Keys(r.GetFound().Fields)))
	}
	return err
}

func TestMaskMarkers(t *testing.T) {
	s := &spy{}
	client := emulatortest.New(t).Firestore(grpc.WithChainStreamInterceptor(MaskMarkers, s.stream))
	define(t, client, "orders", 1)
	store := &fireStore{client: client, name: "orders"}
	es := entriesOf("a")
	if err := store.commit(t.Context(), &batch{commit: "c-1", entries: es}); err != nil {
		t.Fatal(err)
	}
	s.fields = nil // of what was read to define the counter
	id := es[0].id
	got, err := store.markers(t.Context(), []EventID{id})
	if err != nil {
		t.Fatal(err)
	}
	want := map[EventID]Marker{id: {Commit: "c-1", Day: "2026-11-30"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("markers (-want +got):\n%s", diff)
	}
	if _, err := readCounter(t.Context(), client, "orders"); err != nil {
		t.Errorf("other reads: %v", err)
	}
	if n := len(s.fields); n != 2 {
		t.Fatalf("%d documents read, want the marker and the counter", n)
	}
	if diff := cmp.Diff([]string{"commit", "day", "shard"}, s.fields[0]); diff != "" {
		t.Errorf("fields of the marker (-want +got):\n%s", diff)
	}
	if len(s.fields[1]) < 4 {
		t.Errorf("fields of the counter: %v, want all", s.fields[1])
	}
}
