package emulatortest

import (
	"context"
	"fmt"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
)

// A Backlog looks at what a subscription has not acknowledged, also at what a subscriber has in
// hand, and leaves it as it is.
type Backlog struct {
	env        *Env
	sub, probe string
	looks      int
}

// Backlog returns the backlog of a subscription, by full names. What was published before is no
// part of it: it looks at snapshots through a subscription of its own.
func (e *Env) Backlog(id, sub, topic string) *Backlog {
	e.tb.Helper()
	return &Backlog{env: e, sub: sub, probe: e.Subscription(id, topic, nil)}
}

// Look returns what is not acknowledged now. One look at a time.
func (b *Backlog) Look() ([]*pubsubpb.PubsubMessage, error) {
	ctx, cancel := b.env.context()
	defer cancel()
	admin := b.env.admin().SubscriptionAdminClient
	b.looks++
	snapshot := fmt.Sprintf("projects/%s/snapshots/%s-%d", b.env.Project,
		b.probe[len("projects/"+b.env.Project+"/subscriptions/"):], b.looks)
	_, err := admin.CreateSnapshot(ctx,
		&pubsubpb.CreateSnapshotRequest{Name: snapshot, Subscription: b.sub})
	if err != nil {
		return nil, fmt.Errorf("making a snapshot of %s: %w", b.sub, err)
	}
	_, err = admin.Seek(ctx, &pubsubpb.SeekRequest{Subscription: b.probe,
		Target: &pubsubpb.SeekRequest_Snapshot{Snapshot: snapshot}})
	if err != nil {
		return nil, fmt.Errorf("seeking to a snapshot of %s: %w", b.sub, err)
	}
	messages, err := b.pull(ctx)
	if err != nil {
		return nil, fmt.Errorf("pulling from %s: %w", b.probe, err)
	}
	err = admin.DeleteSnapshot(ctx, &pubsubpb.DeleteSnapshotRequest{Snapshot: snapshot})
	if err != nil {
		return nil, fmt.Errorf("deleting %s: %w", snapshot, err)
	}
	return messages, nil
}

// pull takes what the probe has ready.
func (b *Backlog) pull(ctx context.Context) (all []*pubsubpb.PubsubMessage, err error) {
	for {
		req := &pubsubpb.PullRequest{Subscription: b.probe, MaxMessages: 1000}
		//lint:ignore SA1019 an empty backlog is an answer here, and not to be waited out.
		req.ReturnImmediately = true
		res, err := b.env.admin().SubscriptionAdminClient.Pull(ctx, req)
		if err != nil || len(res.ReceivedMessages) == 0 {
			return all, err
		}
		for _, m := range res.ReceivedMessages {
			all = append(all, m.Message)
		}
	}
}
