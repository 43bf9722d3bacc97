package counter

import (
	"context"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
)

// markerFields are the fields of a marker that a Marker has.
var markerFields = []string{"commit", "shard", "day"}

// A masked context is that of a read of markers.
type masked struct{}

// MaskedReads is an option for a Firestore client with which Markers asks for the fields that it
// reads and not for whole documents: a replay is mostly such reads. Without it the same is known,
// by more bytes. The client's own connection to an emulator ignores it; MaskMarkers is for others.
func MaskedReads() option.ClientOption {
	return option.WithGRPCDialOption(grpc.WithChainStreamInterceptor(MaskMarkers))
}

// MaskMarkers is what MaskedReads puts on a connection: firestore.Client itself has no way to name
// the fields that a read of many documents shall return.
func MaskMarkers(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string,
	streamer grpc.Streamer, opts ...grpc.CallOption,
) (grpc.ClientStream, error) {
	s, err := streamer(ctx, desc, cc, method, opts...)
	if err != nil || ctx.Value(masked{}) == nil {
		return s, err
	}
	return maskedStream{s}, nil
}

type maskedStream struct{ grpc.ClientStream }

func (s maskedStream) SendMsg(m any) error {
	if req, ok := m.(*firestorepb.BatchGetDocumentsRequest); ok {
		req.Mask = &firestorepb.DocumentMask{FieldPaths: markerFields}
	}
	return s.ClientStream.SendMsg(m)
}
