package relay

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// partingTime is how long a server may take to end a call whose client is gone.
const partingTime = 5 * time.Second

// forward carries one call to the server, and its end back. A client that is gone takes back
// nothing that it had sent: the server ends the call, and the tap sees how.
func (r *Relay) forward(_ any, down grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(down) // always there, by its documentation
	ctx, cancel := context.WithCancel(context.WithoutCancel(down.Context()))
	defer cancel()
	stop := context.AfterFunc(down.Context(), func() { time.AfterFunc(partingTime, cancel) })
	defer stop()
	if md, ok := metadata.FromIncomingContext(ctx); ok {
		ctx = metadata.NewOutgoingContext(ctx, md)
	}
	if unary(method) {
		return r.call(ctx, method, down)
	}
	return r.stream(ctx, method, down)
}

// unary tells whether the method has one request and one answer. It knows the services whose
// packages are linked, and takes what is unknown for a stream, which every call is on the wire.
func unary(method string) bool {
	name := strings.ReplaceAll(strings.TrimPrefix(method, "/"), "/", ".")
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(name))
	m, ok := d.(protoreflect.MethodDescriptor)
	return err == nil && ok && !m.IsStreamingClient() && !m.IsStreamingServer()
}

func (r *Relay) call(ctx context.Context, method string, down grpc.ServerStream) error {
	var request, answer []byte
	if err := down.RecvMsg(&request); err != nil {
		return err
	}
	r.tap.request(ctx, method, request)
	var trailer metadata.MD
	err := r.conn.Invoke(ctx, method, &request, &answer, grpc.Trailer(&trailer))
	down.SetTrailer(trailer)
	if err != nil {
		return err
	}
	r.tap.answer(method, request, answer)
	return down.SendMsg(&answer)
}

// stream half-closes a stream whose client is gone: the Pub/Sub emulator then gives back at once
// what it sent, while it keeps feeding a stream that is only cancelled, and holds what it fed until
// the lease has run out.
func (r *Relay) stream(ctx context.Context, method string, down grpc.ServerStream) error {
	up, err := r.conn.NewStream(ctx,
		&grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, method)
	if err != nil {
		return err
	}
	r.pumps.Go(func() { r.pump(ctx, method, down, up) })
	for {
		var answer []byte
		err := up.RecvMsg(&answer)
		if errors.Is(err, io.EOF) {
			down.SetTrailer(up.Trailer())
			return nil
		}
		if err != nil {
			return err
		}
		if down.Context().Err() != nil {
			continue // nobody gets it
		}
		r.tap.answer(method, nil, answer)
		_ = down.SendMsg(&answer) // it fails when the client is gone
	}
}

// pump carries what the client sends in a stream until the client's half ends or the call does.
func (r *Relay) pump(ctx context.Context, method string, down grpc.ServerStream, up grpc.ClientStream) {
	for {
		var request []byte
		if err := down.RecvMsg(&request); err != nil {
			_ = up.CloseSend() // it never fails, by its documentation
			return
		}
		r.tap.request(ctx, method, request)
		if up.SendMsg(&request) != nil {
			return // the answer says why
		}
	}
}

func (t Tap) request(ctx context.Context, method string, message []byte) {
	if t.Request != nil {
		t.Request(ctx, method, message)
	}
}

func (t Tap) answer(method string, request, message []byte) {
	if t.Answer != nil {
		t.Answer(method, request, message)
	}
}

// raw is a codec that leaves messages as they are.
type raw struct{}

func (raw) Name() string { return "proto" }

func (raw) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(*v.(*[]byte))}, nil
}

func (raw) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize()
	return nil
}
