// Package relay forwards gRPC calls to a server as they are, so that they can be watched and
// broken on their way: a program that is pointed at a relay needs not know.
//
//	r, err := relay.Start(emulator.Addr, relay.Tap{Request: look}, wire.Options()...)
//	cmd.Env = append(os.Environ(), "PUBSUB_EMULATOR_HOST="+r.Addr)
//	...
//	err = r.Stop()
//
// A call of one request and one answer is forwarded as such and not as a stream, so that
// interceptors of either kind take effect.
package relay

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// A Tap sees the messages that pass, in their wire form. Its functions may be nil, and are called
// at once for calls that run at once. The message is theirs to read until they return.
type Tap struct {
	// Request sees what a client sends before the server gets it. The call waits.
	Request func(ctx context.Context, method string, message []byte)
	// Answer sees what the server sends before the client gets it. request is the message that
	// it answers, and nil in a stream.
	Answer func(method string, request, message []byte)
}

// A Relay listens for the clients of one server.
type Relay struct {
	// Addr is its host and port.
	Addr string

	tap    Tap
	conn   *grpc.ClientConn
	server *grpc.Server
	served chan error
	pumps  sync.WaitGroup // what clients send in streams
}

// Start returns a relay to the server at target, on a free loopback port. opts are for the
// connection to the server.
func Start(target string, tap Tap, opts ...grpc.DialOption) (*Relay, error) {
	conn, err := grpc.NewClient("passthrough:///"+target, append(opts,
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithNoProxy(),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(raw{}),
			grpc.MaxCallRecvMsgSize(math.MaxInt32), grpc.MaxCallSendMsgSize(math.MaxInt32)))...)
	if err != nil {
		return nil, fmt.Errorf("relaying to %s: %w", target, err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(fmt.Errorf("relaying to %s: %w", target, err), conn.Close())
	}
	r := &Relay{Addr: listener.Addr().String(), tap: tap, conn: conn, served: make(chan error, 1)}
	r.server = grpc.NewServer(grpc.ForceServerCodecV2(raw{}), grpc.UnknownServiceHandler(r.forward),
		grpc.MaxRecvMsgSize(math.MaxInt32), grpc.WaitForHandlers(true))
	go func() { r.served <- r.server.Serve(listener) }()
	return r, nil
}

// Stop ends the calls that are under way and closes both sides. It is called once.
func (r *Relay) Stop() error {
	r.server.Stop()
	r.pumps.Wait()
	return errors.Join(<-r.served, r.conn.Close())
}
