package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/pubsub/v2"
	"google.golang.org/api/option"

	"github.com/atlasmart/ordertally/internal/counter"
)

// deps is what a test replaces.
type deps struct {
	stdout, stderr    io.Writer
	pubsub, firestore []option.ClientOption
}

// run carries out one invocation: read, publish, verify, report.
func run(ctx context.Context, args []string, d deps) error {
	c, err := parse(args, d.stderr)
	if err != nil {
		return err
	}
	bodies, err := readFile(c.file)
	if err != nil {
		return err
	}
	begin := time.Now()
	orders := look(bodies, c.counter, begin)
	r := newReport(c, len(bodies), orders)
	if err := connect(ctx, c, d, func(p *program) error {
		return p.publishAndVerify(ctx, bodies, orders, r, begin)
	}); err != nil {
		return err
	}
	r.ElapsedMs = time.Since(begin).Milliseconds()
	write := r.write
	if c.json {
		write = r.writeJSON
	}
	return errors.Join(write(d.stdout), r.err())
}

// A program is one invocation and its clients.
type program struct {
	*config
	stderr    io.Writer
	messages  *pubsub.Client
	documents *firestore.Client // nil without -verify
}

// connect calls do with the clients, and closes them.
func connect(ctx context.Context, c *config, d deps, do func(*program) error) (err error) {
	p := &program{config: c, stderr: d.stderr}
	if p.messages, err = pubsub.NewClient(ctx, c.cloud.Project, d.pubsub...); err != nil {
		return fmt.Errorf("connecting to Pub/Sub: %w", err)
	}
	defer func() { err = errors.Join(err, p.messages.Close()) }()
	if !c.verify {
		return do(p)
	}
	p.documents, err = firestore.NewClientWithDatabase(ctx, c.cloud.Project, c.cloud.Database,
		append(d.firestore, counter.MaskedReads())...)
	if err != nil {
		return fmt.Errorf("connecting to Firestore: %w", err)
	}
	defer func() { err = errors.Join(err, p.documents.Close()) }()
	return do(p)
}

func (p *program) publishAndVerify(
	ctx context.Context, bodies [][]byte, orders contents, r *report, now time.Time,
) error {
	if !p.verify {
		return p.publish(ctx, bodies)
	}
	v, err := newVerifier(ctx, p.documents, p.config, orders, now)
	if err != nil {
		return fmt.Errorf("looking at the counter before anything is published: %w", err)
	}
	if err := p.publish(ctx, bodies); err != nil {
		return err
	}
	err = p.await(ctx, v)
	if err == nil {
		err = v.verdict(ctx, r)
	}
	if err != nil {
		return fmt.Errorf("verifying the counts: %w, after all %d messages were published",
			err, r.Published)
	}
	return nil
}

func (p *program) publish(ctx context.Context, bodies [][]byte) error {
	order := sequence(len(bodies), p.times, p.shuffle, p.seed)
	bar := newProgress(p.stderr, "published", int64(len(order)), time.Now())
	defer func() { bar.end(time.Now()) }()
	return publish(ctx, p.messages, p.config, bodies, order,
		func(n int64) { bar.at(n, time.Now()) })
}

func (p *program) await(ctx context.Context, v *verifier) error {
	bar := newProgress(p.stderr, "counted", v.fresh(), time.Now())
	defer func() { bar.end(time.Now()) }()
	return v.wait(ctx, func(n int64) { bar.at(n, time.Now()) })
}
