package emulatortest_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/pubsub/v2"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"

	"github.com/atlasmart/ordertally/internal/emulator/emulatortest"
)

func TestMain(m *testing.M) { emulatortest.Main(m) }

func TestFirestore_interceptorSeesTheCalls(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	count := func(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn,
		invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		calls.Add(1)
		return invoke(ctx, method, req, reply, conn, opts...)
	}
	fs := emulatortest.New(t).Firestore(grpc.WithUnaryInterceptor(count))
	if _, err := fs.Doc("a/b").Create(t.Context(), map[string]any{"n": 1}); err != nil {
		t.Fatal(err)
	}
	if got := calls.Load(); got != 1 {
		t.Errorf("the interceptor saw %d calls, want 1", got)
	}
}

func TestNew_projectsAreApart(t *testing.T) {
	t.Parallel()
	one, two := emulatortest.New(t), emulatortest.New(t)
	if _, err := one.Firestore().Doc("a/b").Create(t.Context(), map[string]any{}); err != nil {
		t.Fatal(err)
	}
	if _, err := two.Firestore().Doc("a/b").Create(t.Context(), map[string]any{}); err != nil {
		t.Errorf("a document of one project is seen in another: %v", err)
	}
}

func TestPubSub_deliversWhatIsPublished(t *testing.T) {
	t.Parallel()
	env := emulatortest.New(t)
	topic := env.Topic("orders")
	sub := env.Subscription("orders-worker", topic, func(s *pubsubpb.Subscription) {
		s.AckDeadlineSeconds = 60
	})
	want := map[string]string{}
	for i, id := range env.Publish(topic, []byte("one"), []byte("two")) {
		want[id] = []string{"one", "two"}[i]
	}
	if diff := cmp.Diff(want, receive(t, env.PubSub(), sub, len(want))); diff != "" {
		t.Errorf("received (-want +got):\n%s", diff)
	}
}

func receive(t *testing.T, c *pubsub.Client, sub string, n int) map[string]string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	messages := make(chan *pubsub.Message, n)
	err := c.Subscriber(sub).Receive(ctx, func(_ context.Context, m *pubsub.Message) {
		m.Ack()
		select {
		case messages <- m:
		default:
		}
		if len(messages) == n {
			cancel()
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	close(messages)
	got := map[string]string{}
	for m := range messages {
		got[m.ID] = string(m.Data)
	}
	return got
}

func TestSetenv_leadsAPlainClientToTheProject(t *testing.T) {
	env := emulatortest.New(t)
	env.Setenv()
	fs := env.Firestore() // Must not dial a second connection, which Main would report.
	if _, err := fs.Doc("a/b").Create(t.Context(), map[string]any{}); err != nil {
		t.Fatal(err)
	}
	program, err := firestore.NewClient(t.Context(), env.Project)
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	if _, err := program.Doc("a/b").Get(t.Context()); err != nil {
		t.Errorf("a program does not see the document: %v", err)
	}
	if name := env.Topic("orders"); !strings.HasPrefix(name, "projects/"+env.Project) {
		t.Errorf("the topic's name is %s", name)
	}
}
