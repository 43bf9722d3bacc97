package main

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"cloud.google.com/go/firestore"

	"github.com/atlasmart/ordertally/internal/counter"
)

const (
	// readTimeout bounds one read: Firestore's client retries one that is away for long.
	readTimeout = 30 * time.Second

	// markersAtOnce is how many markers are read within readTimeout.
	markersAtOnce = 5000

	// auditTimeout bounds the audit, which asks once for each day that has orders.
	auditTimeout = 5 * time.Minute
)

// A tally is what replay sees of a counter on Firestore. Every call ends in time.
type tally struct {
	client *firestore.Client
	name   string
}

// read reads the counter exactly. One that nobody created yet has no orders.
func (t tally) read(ctx context.Context) (*counter.Reading, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	r, err := counter.Read(ctx, t.client, t.name)
	if errors.Is(err, counter.ErrNotFound) {
		return &counter.Reading{Counter: t.name}, nil
	}
	return r, err
}

// markers returns the markers of those orders that are counted.
func (t tally) markers(
	ctx context.Context, ids []counter.EventID,
) (map[counter.EventID]counter.Marker, error) {
	known := map[counter.EventID]counter.Marker{}
	for chunk := range slices.Chunk(ids, markersAtOnce) {
		some, err := t.someMarkers(ctx, chunk)
		if err != nil {
			return nil, err
		}
		maps.Copy(known, some)
	}
	return known, nil
}

func (t tally) someMarkers(
	ctx context.Context, ids []counter.EventID,
) (map[counter.EventID]counter.Marker, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	return counter.Markers(ctx, t.client, ids)
}

// audit compares the counter's shards with its markers. An unknown counter is an error.
func (t tally) audit(ctx context.Context) (*counter.AuditReport, error) {
	ctx, cancel := context.WithTimeout(ctx, auditTimeout)
	defer cancel()
	return counter.Audit(ctx, t.client, t.name)
}
