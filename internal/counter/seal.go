package counter

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cloud.google.com/go/firestore"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	// sealField is the field of the counter document that keeps the sealed part.
	sealField = "sealed"

	// sealMargin is how far the sealed part lies behind the audit that seals it. A marker's
	// createdAt is when the server took its commit, and a commit that is under way at the read
	// time is not seen yet. A transaction lasts 270 seconds at most
	// (https://cloud.google.com/firestore/quotas#writes_and_transactions), so nothing is added
	// any more to what was created before the margin.
	sealMargin = 5 * time.Minute

	// sealRaces is how often a seal may lose the counter document to somebody else, such as a
	// rollup, before it is given up.
	sealRaces = 20
)

// A seal is the part of a counter that an audit has verified: how many orders each shard and each
// day counted whose markers were created up to UpTo. It holds whatever becomes of those markers.
type seal struct {
	UpTo   time.Time
	AsOf   time.Time     // the read time of the audit
	TTL    time.Duration // the shortest marker TTL that its newest markers show; 0: not known
	Shards map[int]int64 // by the shard that the markers name
	Days   map[string]int64
}

// seal reads the sealed part of the counter document; none is all zero.
func (f *fields) seal() seal {
	raw, there := f.data[sealField]
	if !there {
		return seal{}
	}
	data, ok := raw.(map[string]any)
	if !ok {
		f.fail("%s is %s, want a map", sealField, describe(f.data, sealField))
		return seal{}
	}
	in := fields{path: f.path + " " + sealField, data: data}
	s := seal{UpTo: in.time("upTo"), AsOf: in.time("asOf"), Days: in.integers("days"),
		TTL: time.Duration(in.integer("ttlMs")) * time.Millisecond, Shards: in.byShard("shards")}
	if in.err == nil && s.UpTo.IsZero() {
		in.fail("upTo is missing")
	}
	if f.err == nil {
		f.err = in.err
	}
	return s
}

func (s seal) data() map[string]any {
	return map[string]any{"upTo": s.UpTo, "asOf": s.AsOf, "ttlMs": s.TTL.Milliseconds(),
		"shards": byName(s.Shards), "days": s.Days}
}

// save replaces the sealed part by s, which reaches further, together with what more adds to the
// commit and to the counter document. It reports whether it did. Two at once are safe: each is true
// by itself, and the one that reaches further stays.
func (s seal) save(
	ctx context.Context, client *firestore.Client, r *Reading,
	more func(*firestore.Transaction) ([]firestore.Update, error),
) (bool, error) {
	ref := counterRef(client, r.Counter)
	for range sealRaces {
		old, err := r.seal()
		if err != nil {
			return false, err
		}
		if !old.UpTo.Before(s.UpTo) {
			return false, nil
		}
		err = client.RunTransaction(ctx, func(_ context.Context, tx *firestore.Transaction) error {
			updates, err := more(tx)
			updates = append(updates, firestore.Update{Path: sealField, Value: s.data()})
			return errors.Join(err, tx.Update(ref, updates, unchangedSince(r.updated)))
		}, firestore.MaxAttempts(1))
		if err == nil {
			return true, nil
		}
		switch status.Code(err) {
		case codes.FailedPrecondition, codes.Aborted, codes.AlreadyExists:
		default:
			return false, fmt.Errorf("sealing %q: %w", r.Counter, err)
		}
		if err := r.Refresh(ctx, client); err != nil {
			return false, err
		}
	}
	return false, fmt.Errorf("sealing %q: %w, %d times in a row", r.Counter, ErrRaced, sealRaces)
}

// readSealed is Read, and the sealed part as it stood then.
func readSealed(
	ctx context.Context, client *firestore.Client, name string,
) (*Reading, seal, error) {
	r, err := Read(ctx, client, name)
	if err != nil {
		return nil, seal{}, err
	}
	s, err := r.seal()
	return r, s, err
}

// seal is the sealed part as the counter document held it.
func (r *Reading) seal() (seal, error) {
	f := fields{path: countersCollection + "/" + r.Counter, data: r.data}
	s := f.seal()
	return s, f.err
}
