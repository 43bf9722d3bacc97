package consume

import (
	"strings"
	"testing"
)

func TestNames(t *testing.T) {
	longest := "a" + strings.Repeat("b", 254)
	for _, tt := range []struct{ name, sub, topic string }{
		{"orders", "projects/p/subscriptions/orders", "projects/p/topics/orders"},
		{"abc", "projects/p/subscriptions/abc", "projects/p/topics/abc"},
		{"A1-_.~+%", "projects/p/subscriptions/A1-_.~+%", "projects/p/topics/A1-_.~+%"},
		{longest, "projects/p/subscriptions/" + longest, "projects/p/topics/" + longest},
		{"oogle", "projects/p/subscriptions/oogle", "projects/p/topics/oogle"},
		{"projects/other/subscriptions/orders", "projects/other/subscriptions/orders", ""},
		{"projects/example.com:p/subscriptions/orders",
			"projects/example.com:p/subscriptions/orders", ""},
		{"projects/other/topics/orders", "", "projects/other/topics/orders"},
		{"", "", ""},
		{"ab", "", ""},
		{longest + "b", "", ""},
		{"1orders", "", ""},
		{"-orders", "", ""},
		{"goog-orders", "", ""},
		{"projects/p/subscriptions/goog-orders", "", ""},
		{"projects/p/topics/goog-orders", "", ""},
		{"orders today", "", ""},
		{"orders\n", "", ""},
		{"주문-orders", "", ""},
		{"orders/", "", ""},
		{"/orders", "", ""},
		{"topics/orders", "", ""},
		{"projects/p/subscriptions/", "", ""},
		{"projects//subscriptions/orders", "", ""},
		{"projects//topics/orders", "", ""},
		{"project/p/topics/orders", "", ""},
		{"projects/p/snapshots/orders", "", ""},
		{"projects/p/topics/orders/x", "", ""},
		{"//pubsub.googleapis.com/projects/p/topics/orders", "", ""},
	} {
		checkName(t, SubscriptionName, "subscriptions", tt.name, tt.sub)
		checkName(t, TopicName, "topics", tt.name, tt.topic)
	}
}

// checkName wants of f(p, name) the full name want, or, when that is empty, an error that quotes
// the name and says what would be one.
func checkName(
	t *testing.T, f func(project, name string) (string, error), collection, name, want string,
) {
	t.Helper()
	got, err := f("p", name)
	if got != want || (err == nil) != (want != "") {
		t.Errorf("%q among %s: %q, %v, want %q", name, collection, got, err, want)
	}
	if err != nil && !strings.Contains(err.Error(), "projects/PROJECT/"+collection+"/NAME") {
		t.Errorf("%q among %s: %q does not say what is wanted", name, collection, err)
	}
}
