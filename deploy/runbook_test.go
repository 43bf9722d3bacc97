package deploy

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

const runbook = "../docs/runbook.md"

// alertNames are the alerts, and the runbook's sections that they link.
var alertNames = []string{"OrdertallyRollupStale", "OrdertallyRollupLagGrowing", "OrdertallyDrift",
	"OrdertallyDeadLetters", "OrdertallyCommitErrors", "OrdertallyOldestMessage", "OrdertallyRestarts"}

// TestRunbook_sections wants a section for each alert, and a heading for each link.
func TestRunbook_sections(t *testing.T) {
	text := read(t, runbook)
	var anchors []string
	for _, m := range regexp.MustCompile(`(?m)^##+ (.*)$`).FindAllStringSubmatch(text, -1) {
		anchors = append(anchors, strings.ReplaceAll(strings.ToLower(m[1]), " ", "-"))
	}
	for _, name := range alertNames {
		if !slices.Contains(anchors, strings.ToLower(name)) {
			t.Errorf("%s has no section %s", runbook, name)
		}
	}
	for _, m := range regexp.MustCompile(`\]\(#(.*?)\)`).FindAllStringSubmatch(text, -1) {
		if !slices.Contains(anchors, m[1]) {
			t.Errorf("%s links #%s, which is no heading", runbook, m[1])
		}
	}
	alerts := regexp.MustCompile(`(?m)^    (Ordertally\w+) = \{$`)
	for _, m := range alerts.FindAllStringSubmatch(read(t, "terraform/alerts.tf"), -1) {
		if !slices.Contains(alertNames, m[1]) {
			t.Errorf("terraform/alerts.tf: the runbook has no section for %s", m[1])
		}
	}
}
