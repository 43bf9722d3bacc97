package main

import (
	"context"
	"sync/atomic"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc"
)

// calls counts what a Firestore client really sends: the figures of writes and reads are these,
// and not a computation.
type calls struct{ commits, writes, reads, failed atomic.Int64 }

// A tally is what was counted up to a moment.
type tally struct{ commits, writes, reads, failed int64 }

func (c *calls) now() tally {
	return tally{c.commits.Load(), c.writes.Load(), c.reads.Load(), c.failed.Load()}
}

// unary sees commits. A commit that is refused writes nothing.
func (c *calls) unary(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn,
	invoke grpc.UnaryInvoker, opts ...grpc.CallOption,
) error {
	err := invoke(ctx, method, req, reply, cc, opts...)
	commit, ok := req.(*firestorepb.CommitRequest)
	if !ok {
		return err
	}
	c.commits.Add(1)
	if err != nil {
		c.failed.Add(1)
		return err
	}
	c.writes.Add(int64(len(commit.GetWrites())))
	return nil
}

// stream sees the answers to document reads: Firestore charges one for each, also for a missing
// document.
func (c *calls) stream(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn,
	method string, streamer grpc.Streamer, opts ...grpc.CallOption,
) (grpc.ClientStream, error) {
	s, err := streamer(ctx, desc, cc, method, opts...)
	if err != nil {
		return nil, err
	}
	return &countedStream{s, c}, nil
}

type countedStream struct {
	grpc.ClientStream
	calls *calls
}

func (s *countedStream) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	if err != nil {
		return err
	}
	switch m := m.(type) {
	case *firestorepb.BatchGetDocumentsResponse:
		if m.GetResult() != nil {
			s.calls.reads.Add(1)
		}
	case *firestorepb.RunQueryResponse:
		if m.GetDocument() != nil {
			s.calls.reads.Add(1)
		}
	}
	return nil
}
