package counter

import (
	"context"
	"errors"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A verdict is what an error of the store means for the group that met it. Here, and nowhere
// else, the transient is told apart from the permanent.
type verdict int

const (
	// transient: the outcome may be unknown; the same group again is safe, by its markers.
	transient verdict = iota
	// contended: transient too, and the store asks for less.
	contended
	// exists: nothing was written, since a marker was there already.
	exists
	// refused: nothing was written, since the request is not acceptable. Once, it may be a
	// transaction whose lost answer makes it look closed; twice, it is an order's fault.
	refused
	// misplaced: something is wrong with the world (a permission, the database), and not with
	// an order. It is waited for.
	misplaced
)

func judge(err error) verdict {
	// When the client's own backoff is cut by a deadline it returns the bare context error, and
	// status.Code would call that Unknown.
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return transient
	}
	switch status.Code(err) {
	case codes.AlreadyExists:
		return exists
	case codes.InvalidArgument:
		return refused
	case codes.Aborted, codes.ResourceExhausted:
		return contended
	case codes.PermissionDenied, codes.Unauthenticated, codes.NotFound,
		codes.FailedPrecondition, codes.Unimplemented, codes.OutOfRange:
		return misplaced
	}
	return transient
}
