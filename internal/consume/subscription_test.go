package consume

import (
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"cloud.google.com/go/pubsub/v2/pstest"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
)

const day = 24 * time.Hour

// answer makes GetSubscription answer with a subscription that the fake would not make.
type answer struct{ sub *pubsubpb.Subscription }

// React implements pstest.Reactor.
func (a answer) React(any) (handled bool, ret any, err error) { return true, a.sub, nil }

func TestCheck_retention(t *testing.T) {
	t.Parallel()
	kept := func(sub, topic time.Duration) *pubsubpb.Subscription {
		s := &pubsubpb.Subscription{Name: subscription}
		if sub > 0 {
			s.MessageRetentionDuration = durationpb.New(sub)
		}
		if topic > 0 {
			s.TopicMessageRetentionDuration = durationpb.New(topic)
		}
		return s
	}
	for _, tt := range []struct {
		name    string
		sub     *pubsubpb.Subscription
		ttl     time.Duration
		refused string // how long messages are kept; "": accepted
	}{
		{"longer", kept(7*day, 0), 35 * day, ""},
		{"equal", kept(31*day, 0), 31 * day, ""},
		{"a second shorter", kept(31*day, 0), 31*day - time.Second, "744h0m0s"},
		{"short retention", kept(10*time.Minute, 0), time.Hour, ""},
		{"the default, equal", kept(0, 0), 7 * day, ""},
		{"the default, shorter", kept(0, 0), 7*day - time.Nanosecond, "168h0m0s"},
		{"the topic keeps longer", kept(10*time.Minute, 31*day), 30 * day, "744h0m0s"},
		{"the topic keeps as long", kept(10*time.Minute, 31*day), 31 * day, ""},
		{"the topic keeps less", kept(31*day, day), 7 * day, "744h0m0s"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := newEdge(t, nil,
				pstest.ServerReactorOption{FuncName: "GetSubscription", Reactor: answer{tt.sub}})
			err := Check(t.Context(), e.client, e.cfg, tt.ttl)
			if tt.refused == "" {
				if err != nil {
					t.Errorf("Check: %v, want no error", err)
				}
				return
			}
			wantInError(t, err, "WORKER_MARKER_TTL", subscription, tt.ttl.String(), tt.refused)
		})
	}
}

func wantInError(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want one with %q", parts)
		return
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q does not name %q", err, part)
		}
	}
}

func TestCheck_missing(t *testing.T) {
	t.Parallel()
	e := newEdge(t, nil)
	e.cfg.Subscription = project + "/subscriptions/missing"
	wantInError(t, Check(t.Context(), e.client, e.cfg, 35*day), e.cfg.Subscription,
		"does not exist")

	e.cfg.Subscription, e.cfg.DeadLetterTopic = subscription, project+"/topics/missing"
	wantInError(t, Check(t.Context(), e.client, e.cfg, 35*day), e.cfg.DeadLetterTopic,
		"does not exist")
	if n := e.logs.Len(); n != 0 {
		t.Errorf("%d log lines, want the errors alone", n)
	}
}

func TestCheck_notAllowedToLook(t *testing.T) {
	t.Parallel()
	denied := status.Error(codes.PermissionDenied, "not allowed")
	sub, dead := &refusal{}, &refusal{}
	e := newEdge(t, nil, sub.of("GetSubscription"), dead.of("GetTopic"))
	e.cfg.DeadLetterTopic = deadTopic
	dead.set(denied)
	if err := Check(t.Context(), e.client, e.cfg, 35*day); err != nil || e.logs.Len() != 0 {
		t.Errorf("topic denied: %v with logs %v, want neither", err, e.logs.All())
	}
	sub.set(denied)
	if err := Check(t.Context(), e.client, e.cfg, time.Hour); err != nil {
		t.Errorf("subscription denied: %v, want a warning alone", err)
	}
	logs := e.logs.TakeAll()
	if len(logs) != 1 || logs[0].ContextMap()["subscription"] != subscription {
		t.Errorf("logs: %v, want one warning with the subscription", logs)
	}
	sub.set(status.Error(codes.Unauthenticated, "who are you"))
	wantInError(t, Check(t.Context(), e.client, e.cfg, 35*day), subscription, "who are you")
	sub.clear()
	dead.set(status.Error(codes.Unauthenticated, "who are you"))
	wantInError(t, Check(t.Context(), e.client, e.cfg, 35*day), deadTopic, "who are you")
}

// TestCheck_deadLetters warns when an invalid message would come back for ever.
func TestCheck_deadLetters(t *testing.T) {
	t.Parallel()
	policy := &pubsubpb.DeadLetterPolicy{DeadLetterTopic: deadTopic, MaxDeliveryAttempts: 20}
	for _, tt := range []struct {
		name, topic string
		policy      *pubsubpb.DeadLetterPolicy
		warnings    int
	}{
		{"neither", "", nil, 1},
		{"a topic", deadTopic, nil, 0},
		{"a policy", "", policy, 0},
		{"both", deadTopic, policy, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			sub := &pubsubpb.Subscription{Name: subscription, DeadLetterPolicy: tt.policy}
			e := newEdge(t, nil,
				pstest.ServerReactorOption{FuncName: "GetSubscription", Reactor: answer{sub}})
			e.cfg.DeadLetterTopic = tt.topic
			if err := Check(t.Context(), e.client, e.cfg, 35*day); err != nil {
				t.Fatal(err)
			}
			logs := e.logs.All()
			if len(logs) != tt.warnings {
				t.Fatalf("logs: %v, want %d warnings", logs, tt.warnings)
			}
			if len(logs) > 0 && !strings.Contains(logs[0].Message, "WORKER_DEAD_LETTER_TOPIC") {
				t.Errorf("warning %q does not name the setting", logs[0].Message)
			}
		})
	}
}
