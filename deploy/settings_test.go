package deploy

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/atlasmart/ordertally/deploy/deploytest"
)

// TestSettings wants the manifests' settings from Terraform too. That the programs take them is
// tested beside the programs (cmd/worker, cmd/rollup: deploy_test.go).
func TestSettings(t *testing.T) {
	out := terraformOutputs(t)
	for program, want := range map[string]map[string]string{
		"worker": out.Worker.Value, "rollup": out.Rollup.Value} {
		for _, c := range deploytest.Containers(t, "..", program) {
			got := c.Environ()
			if c.File == "k8s/worker.yaml" {
				got["WORKER_SHUTDOWN_GRACE"] = want["WORKER_SHUTDOWN_GRACE"] // each platform's own
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: settings (-terraform +manifest):\n%s", c.File, diff)
			}
		}
	}
}
