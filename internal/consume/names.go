package consume

import (
	"fmt"
	"regexp"
	"strings"
)

// https://cloud.google.com/pubsub/docs/pubsub-basics#resource_names
var resourceID = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9._~+%-]{2,254}$`)

// SubscriptionName returns the full name, projects/P/subscriptions/S, of a short or full one.
func SubscriptionName(project, name string) (string, error) {
	return fullName(project, "subscriptions", name)
}

// TopicName returns the full name, projects/P/topics/T, of a short or full one.
func TopicName(project, name string) (string, error) {
	return fullName(project, "topics", name)
}

func fullName(project, collection, name string) (string, error) {
	full := name
	if !strings.Contains(name, "/") {
		full = "projects/" + project + "/" + collection + "/" + name
	}
	part := strings.Split(full, "/")
	if len(part) != 4 || part[0] != "projects" || part[1] == "" || part[2] != collection ||
		!resourceID.MatchString(part[3]) || strings.HasPrefix(part[3], "goog") {
		return "", fmt.Errorf("%q is not a name: want NAME or projects/PROJECT/%s/NAME, "+
			"NAME being a letter and 2 to 254 of letters, digits and - _ . ~ + %%",
			name, collection)
	}
	return full, nil
}
