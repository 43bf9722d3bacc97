package consume

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/atlasmart/ordertally/internal/counter"
)

// leastSecret is how long an id must be to be told from the words of a log line.
const leastSecret = 8

// A leak collects what was sent, none of which may be in a log line at INFO or above.
type leak struct {
	*edge
	secrets map[string]bool
	ids     []string // of the messages
}

// send publishes a message whose body, order id and source are secrets.
func (l *leak) send(body []byte, attrs map[string]string) {
	l.secret(string(body))
	for _, text := range append(idsIn(body), sourcesIn(body)...) {
		l.secret(text)
	}
	l.ids = append(l.ids, l.server.Publish(topic, body, attrs))
}

func (l *leak) sendOrder(id string) {
	l.send([]byte(`{"orderId":"`+id+`","source":"source-of-`+id+`"}`), nil)
}

// secret keeps a text as it stands, and as a line of JSON would hold it.
func (l *leak) secret(s string) {
	if len(s) < leastSecret {
		return
	}
	l.secrets[s] = true
	if quoted, err := json.Marshal(s); err == nil {
		l.secrets[string(quoted[1:len(quoted)-1])] = true
	}
}

func sourcesIn(body []byte) []string {
	var o struct{ Source any }
	if json.Unmarshal(body, &o) != nil {
		return nil
	}
	s, _ := o.Source.(string)
	return []string{s}
}

// check looks for secrets in the log, and for each line that the test is about.
func (l *leak) check(lines ...string) {
	l.t.Helper()
	encoder := zapcore.NewJSONEncoder(zapcore.EncoderConfig{MessageKey: "message"})
	seen := map[string]bool{}
	for _, entry := range l.logs.All() {
		seen[entry.Message] = true
		if entry.Level < zapcore.InfoLevel {
			continue
		}
		line, err := encoder.EncodeEntry(entry.Entry, entry.Context)
		if err != nil {
			l.t.Fatal(err)
		}
		for s := range l.secrets {
			if strings.Contains(line.String(), s) {
				l.t.Errorf("%q is in the log line\n%s", s, line)
			}
		}
	}
	for _, line := range lines {
		if !seen[line] {
			l.t.Errorf("the log has no line %q: the test is blind", line)
		}
	}
}

// troubled hands orders to a counter, and fails, panics and blocks first where an id says so.
type troubled struct {
	orders      *counter.Counter
	hit, panics atomic.Bool
	blocked     atomic.Int32
}

func (a *troubled) Add(ctx context.Context, o counter.Order) (counter.Outcome, error) {
	switch {
	case strings.HasPrefix(o.ID, "failing-") && a.hit.CompareAndSwap(false, true):
		return 0, errors.New("oops")
	case strings.HasPrefix(o.ID, "panicking-") && a.panics.CompareAndSwap(false, true):
		panic("boom")
	case strings.HasPrefix(o.ID, "blocked-"):
		a.blocked.Add(1)
		<-ctx.Done()
		return 0, ctx.Err()
	}
	return a.orders.Add(ctx, o)
}

// script refuses the order that is called so for good, and the first commit for once.
func script() func(*firestorepb.CommitRequest) error {
	var troubled atomic.Bool
	return func(req *firestorepb.CommitRequest) error {
		for _, w := range req.Writes {
			id := w.GetUpdate().GetFields()["orderId"].GetStringValue()
			if strings.HasPrefix(id, "refused-") {
				return status.Error(codes.InvalidArgument, "an index entry is too large")
			}
		}
		if troubled.CompareAndSwap(false, true) {
			return status.Error(codes.Internal, "trouble")
		}
		return nil
	}
}

// TestLogsGiveNoOrderAway sends the whole message table, and orders that are counted, known,
// refused, unlucky and given up, through a consumer and a counter, and reads their log.
func TestLogsGiveNoOrderAway(t *testing.T) {
	t.Parallel()
	unpublished := &refusal{match: func(r any) bool {
		return r.(*pubsubpb.PublishRequest).Topic == deadTopic
	}}
	unpublished.set(status.Error(codes.PermissionDenied, "not allowed"))
	l := &leak{edge: newEdge(t, nil, unpublished.of("Publish")), secrets: map[string]bool{}}
	orders := &troubled{orders: newScripted(t, l.cfg.Log.With(zap.String("of", "counter")), script())}
	l.orders = orders
	l.cfg.DeadLetterTopic, l.cfg.Grace = deadTopic, 2*time.Second
	l.run()
	l.send([]byte(`{"orderId":"invalid-0123456789","acceptedAt":"never-0123456789"}`), nil)
	l.eventually("a dead letter not published", func() bool { return unpublished.hits.Load() > 0 })
	unpublished.clear()
	l.sendTable()
	for _, id := range []string{"plain-0123456789", "plain-0123456789", "refused-0123456789",
		"failing-0123456789", "panicking-0123456789"} {
		l.sendOrder(id)
	}
	l.eventuallyAcked(l.ids...)
	l.wire.breakStreams(status.Error(codes.PermissionDenied, "not allowed"))
	l.eventually("a restart", func() bool { return len(l.restarts()) > 0 })
	l.sendOrder("blocked-0123456789")
	l.eventually("an order in hand", func() bool { return orders.blocked.Load() > 0 })
	if err := l.stopInGrace(); !errors.Is(err, errAbandoned) {
		t.Errorf("Run: %v, want %v", err, errAbandoned)
	}
	l.check("commit attempt went wrong, and is repeated", "Firestore refuses an order",
		"message dead-lettered", "dead letter not published, message nacked",
		"order not counted, message nacked", "handling a message panicked",
		"receive loop broke and starts again")
}

// sendTable publishes every message of the table.
func (l *leak) sendTable() {
	text, err := os.ReadFile("testdata/messages.txt")
	if err != nil {
		l.t.Fatal(err)
	}
	for block := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n\n") {
		if strings.HasPrefix(block, "#") {
			continue
		}
		c, err := parseGolden(block)
		if err != nil {
			l.t.Fatal(err)
		}
		l.send(c.body, c.attrs)
	}
}

// TestLogsGiveNoInvalidMessageAway is the same without dead letters, where messages come back.
func TestLogsGiveNoInvalidMessageAway(t *testing.T) {
	t.Parallel()
	l := &leak{edge: newEdge(t, newLedger()), secrets: map[string]bool{}}
	l.run()
	l.send([]byte(`{"orderId":"dated-0123456789","acceptedAt":"never-0123456789"}`), nil)
	l.send([]byte(`{"orderId":"escaped-0123456789-\ud83d-0123456789"}`), nil)
	l.send([]byte(`{"orderId":"cut-0123456789`), nil)
	l.secret("escaped-0123456789")
	l.secret("cut-0123456789")
	l.eventually("every message given back", func() bool {
		return !slices.ContainsFunc(l.ids, func(id string) bool { return l.nacks(id) == 0 })
	})
	l.drained()
	l.check("invalid message nacked")
}
