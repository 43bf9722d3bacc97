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
	if err := publishAndVerify(ctx, c, d, bodies, orders, r); err != nil {
		return err
	}
	r.ElapsedMs = time.Since(begin).Milliseconds()
	write := r.write
	if c.json {
		write = r.writeJSON
	}
	return errors.Join(write(d.stdout), r.err())
}

func publishAndVerify(
	ctx context.Context, c *config, d deps, bodies [][]byte, orders contents, r *report,
) (err error) {
	messages, err := pubsub.NewClient(ctx, c.cloud.Project, d.pubsub...)
	if err != nil {
		return fmt.Errorf("connecting to Pub/Sub: %w", err)
	}
	defer func() { err = errors.Join(err, messages.Close()) }()
	send := func() error { return publishAll(ctx, c, d, messages, bodies) }
	if !c.verify {
		return send()
	}
	documents, err := firestore.NewClientWithDatabase(ctx, c.cloud.Project, c.cloud.Database,
		d.firestore...)
	if err != nil {
		return fmt.Errorf("connecting to Firestore: %w", err)
	}
	defer func() { err = errors.Join(err, documents.Close()) }()
	v, err := newVerifier(ctx, documents, c, orders)
	if err != nil {
		return err
	}
	if err := send(); err != nil {
		return err
	}
	p := newProgress(d.stderr, "counted", int64(len(orders.orders)), time.Now())
	err = v.wait(ctx, func(n int64) { p.at(n, time.Now()) })
	p.end(time.Now())
	if err != nil {
		return err
	}
	return v.verdict(ctx, r)
}

func publishAll(
	ctx context.Context, c *config, d deps, messages *pubsub.Client, bodies [][]byte,
) error {
	order := sequence(len(bodies), c.times, c.shuffle, c.seed)
	p := newProgress(d.stderr, "published", int64(len(order)), time.Now())
	err := publish(ctx, messages, c, bodies, order, func(n int64) { p.at(n, time.Now()) })
	p.end(time.Now())
	return err
}
