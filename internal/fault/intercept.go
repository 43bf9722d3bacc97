package fault

import (
	"context"
	"sync"
	"time"

	"google.golang.org/grpc"
)

func (w *Wire) unary(
	ctx context.Context, method string, req, reply any, cc *grpc.ClientConn,
	invoke grpc.UnaryInvoker, opts ...grpc.CallOption,
) error {
	c := w.begin(method, false)
	if err := c.before(ctx); err != nil {
		return err
	}
	err := invoke(ctx, method, req, reply, cc, opts...)
	if broken := c.after(ctx); broken != nil {
		return broken
	}
	return err
}

// before does what the fault does before the call reaches the server.
func (c *call) before(ctx context.Context) error {
	switch c.Kind {
	case Refuse:
		return c.err()
	case Hang:
		return c.hang(ctx)
	case Slow:
		return c.hold(ctx)
	}
	return nil
}

// after does what the fault does once the server has answered.
func (c *call) after(ctx context.Context) error {
	if c.cutOff() {
		return down()
	}
	switch c.Kind {
	case Lose:
		return c.err()
	case Mute:
		return c.hang(ctx)
	}
	return nil
}

func (w *Wire) stream(
	ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string,
	open grpc.Streamer, opts ...grpc.CallOption,
) (grpc.ClientStream, error) {
	c := w.begin(method, true)
	if c.Kind == Refuse || c.Kind == Hang {
		return &unopened{ctx: ctx, call: c}, nil
	}
	if err := c.before(ctx); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	cs, err := open(ctx, desc, cc, method, opts...)
	if err != nil {
		cancel()
		return nil, err
	}
	s := &stream{ClientStream: cs, call: c, cancel: cancel}
	w.track(ctx, s)
	if c.Kind == Break {
		t := time.AfterFunc(c.For, func() { s.fail(c.err()) })
		context.AfterFunc(ctx, func() { t.Stop() })
	}
	return s, nil
}

// track knows the stream for as long as it is open.
func (w *Wire) track(ctx context.Context, s *stream) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.streams[s] = struct{}{}
	context.AfterFunc(ctx, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.streams, s)
	})
}

// A stream is an open stream that may be broken at any time.
type stream struct {
	grpc.ClientStream
	call   *call
	cancel context.CancelFunc

	sending sync.Mutex // a stream takes one sender at a time
	mu      sync.Mutex
	why     error // it was broken; nil: it was not
}

// parting is how long a server may take to end a stream that is to break.
const parting = time.Second

// fail breaks the stream. The server is asked to end its side, as it had when the fault were its
// own. The Pub/Sub emulator does not see that a stream was cancelled: of 40 messages that were
// published afterwards it kept 34 for the dead stream, without a byte of them on its connection,
// and they came to the next stream when one lease of theirs or several had run out. It kept 31
// when the whole connection was closed, and none after the client's half-close.
func (s *stream) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.why != nil {
		return
	}
	s.why = err
	time.AfterFunc(parting, s.cancel)
	s.sending.Lock()
	defer s.sending.Unlock()
	_ = s.ClientStream.CloseSend() // it never fails, by its documentation
}

// SendMsg implements grpc.ClientStream.
func (s *stream) SendMsg(m any) error {
	s.sending.Lock()
	defer s.sending.Unlock()
	return s.ClientStream.SendMsg(m)
}

// CloseSend implements grpc.ClientStream.
func (s *stream) CloseSend() error {
	s.sending.Lock()
	defer s.sending.Unlock()
	return s.ClientStream.CloseSend()
}

// RecvMsg implements grpc.ClientStream. The client reads until an error, so here the stream's own
// context ends.
func (s *stream) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	for err == nil && s.broken() != nil {
		err = s.ClientStream.RecvMsg(m) // what comes after the break is lost
	}
	switch {
	case s.broken() != nil:
		err = s.broken()
	case s.call.Kind == Lose:
		err = s.call.err()
	case s.call.Kind == Mute:
		err = s.call.hang(s.Context())
	}
	if err != nil {
		s.cancel()
	}
	return err
}

func (s *stream) broken() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.why
}

// An unopened stream never reaches the server. It fails as a service's does: at the first answer,
// and not at the call.
type unopened struct {
	grpc.ClientStream
	ctx  context.Context
	call *call
}

func (*unopened) SendMsg(any) error          { return nil }
func (*unopened) CloseSend() error           { return nil }
func (u *unopened) Context() context.Context { return u.ctx }
func (u *unopened) RecvMsg(any) error        { return u.call.before(u.ctx) }
