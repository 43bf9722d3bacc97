package main

import (
	"context"
	"sync"
	"time"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc"
)

// A model gives the emulator what it lacks of production: a latency to every commit, and to every
// document a rate of writes that it takes for long. It is a model, and no measurement: each record
// carries its parameters.
type model struct {
	CommitLatencyMs float64 `json:"commitLatencyMs"`
	DocWrites       float64 `json:"docWritesPerSecond"` // 0: no limit

	mu   sync.Mutex
	free map[string]time.Time // when a document takes its next write
}

// unary delays a commit until the latency has passed and each of its documents is free. A create
// makes a document, whose first write is always free.
func (m *model) unary(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn,
	invoke grpc.UnaryInvoker, opts ...grpc.CallOption,
) error {
	commit, ok := req.(*firestorepb.CommitRequest)
	if !ok {
		return invoke(ctx, method, req, reply, cc, opts...)
	}
	delay := time.NewTimer(m.delay(commit, time.Now()))
	defer delay.Stop()
	select {
	case <-delay.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	return invoke(ctx, method, req, reply, cc, opts...)
}

func (m *model) delay(commit *firestorepb.CommitRequest, now time.Time) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.free == nil {
		m.free = map[string]time.Time{}
	}
	start := now
	var docs []string
	for _, w := range commit.GetWrites() {
		if m.DocWrites == 0 || w.GetCurrentDocument() != nil {
			continue
		}
		name := w.GetUpdate().GetName()
		docs = append(docs, name)
		if free := m.free[name]; free.After(start) {
			start = free
		}
	}
	for _, name := range docs {
		m.free[name] = start.Add(time.Duration(float64(time.Second) / m.DocWrites))
	}
	return start.Sub(now) + time.Duration(m.CommitLatencyMs*float64(time.Millisecond))
}
