package deploy

import (
	"context"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/atlasmart/ordertally/internal/emulator/emulatortest"
)

// A document is what a client tries to read and to change.
type document struct {
	path   string
	public bool // below counters/
}

// documents are one of each kind that the programs write, and one of none.
var documents = []document{
	{"counters/orders-today", true},
	{"counters/orders-today/shards/0", true},
	{"counters/orders-today/days/2026-11-30", true},
	{"counters/orders-today/repairs/1", true},
	{"counterEvents/0f3a", false},
	{"orders/ord-9001", false},
}

// rulesTimeout bounds all that is tried.
const rulesTimeout = time.Minute

func TestRules(t *testing.T) {
	env := emulatortest.New(t)
	setRules(t, env, "firestore.rules")
	ctx, cancel := context.WithTimeout(t.Context(), rulesTimeout)
	defer cancel()
	server := visitor{"the server", dial(t, env, "owner"), true, true}
	for _, d := range documents {
		seed(ctx, t, server.client, d.path)
		server.try(ctx, t, d)
		seed(ctx, t, server.client, d.path)
	}
	// Nothing that the others may do changes anything, so they do all of it at once.
	var all sync.WaitGroup
	defer all.Wait()
	for _, v := range []visitor{
		{"a signed-in client", dial(t, env, signedIn(t, env.Project, "ada")), true, false},
		{"an anonymous client", dial(t, env, ""), false, false},
	} {
		for _, d := range documents {
			all.Go(func() { v.try(ctx, t, d) })
		}
	}
}

// A visitor is a kind of client, and what the rules should let it do.
type visitor struct {
	name        string
	client      *firestore.Client
	reads, does bool // what is public; everything
}

// try makes every attempt with a document.
func (v visitor) try(ctx context.Context, t *testing.T, d document) {
	doc := v.client.Doc(d.path)
	for _, a := range attempts {
		allowed := v.does || a.read && d.public && v.reads
		if err := a.try(ctx, doc); !agrees(err, allowed) {
			t.Errorf("%s: %s %s: %v, want allowed = %t", v.name, a.name, d.path, err, allowed)
		}
	}
}

// seed writes the document that is read, changed and deleted.
func seed(ctx context.Context, t *testing.T, server *firestore.Client, path string) {
	t.Helper()
	if _, err := server.Doc(path).Set(ctx, map[string]any{"count": 1}); err != nil {
		t.Fatal(err)
	}
}

// agrees tells whether the outcome is that of an attempt that is allowed, or denied.
func agrees(err error, allowed bool) bool {
	if allowed {
		return err == nil
	}
	return status.Code(err) == codes.PermissionDenied
}

// attempts are what a client can try with a document, the deletion last.
var attempts = []struct {
	name string
	read bool
	try  func(context.Context, *firestore.DocumentRef) error
}{
	{"get", true, func(ctx context.Context, d *firestore.DocumentRef) error {
		_, err := d.Get(ctx)
		return err
	}},
	{"list the collection of", true, func(ctx context.Context, d *firestore.DocumentRef) error {
		_, err := d.Parent.Documents(ctx).GetAll()
		return err
	}},
	{"count the collection of", true, func(ctx context.Context, d *firestore.DocumentRef) error {
		_, err := d.Parent.NewAggregationQuery().WithCount("n").Get(ctx)
		return err
	}},
	{"create beside", false, func(ctx context.Context, d *firestore.DocumentRef) error {
		_, err := d.Parent.NewDoc().Create(ctx, map[string]any{"count": 1})
		return err
	}},
	{"set", false, func(ctx context.Context, d *firestore.DocumentRef) error {
		_, err := d.Set(ctx, map[string]any{"count": 2})
		return err
	}},
	{"increment", false, func(ctx context.Context, d *firestore.DocumentRef) error {
		_, err := d.Update(ctx, []firestore.Update{{Path: "count", Value: firestore.Increment(1)}})
		return err
	}},
	{"delete", false, func(ctx context.Context, d *firestore.DocumentRef) error {
		_, err := d.Delete(ctx)
		return err
	}},
}

// TestRules_collectionGroups wants that nobody reaches a collection by its name alone: a counter's
// shards would come with those of every other path.
func TestRules_collectionGroups(t *testing.T) {
	env := emulatortest.New(t)
	setRules(t, env, "firestore.rules")
	client := dial(t, env, signedIn(t, env.Project, "ada"))
	ctx, cancel := context.WithTimeout(t.Context(), rulesTimeout)
	defer cancel()
	for _, group := range []string{"shards", "days", "counterEvents"} {
		if _, err := client.CollectionGroup(group).Documents(ctx).GetAll(); !agrees(err, false) {
			t.Errorf("the collection group %s: %v, want it denied", group, err)
		}
	}
}
