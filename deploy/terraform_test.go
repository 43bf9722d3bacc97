package deploy

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// An environment is an output of Terraform.
type environment struct{ Value map[string]string }

type outputs struct {
	Worker environment `json:"worker_env"`
	Rollup environment `json:"rollup_env"`
}

// terraformOutputs applies the settings module, which has no provider and so touches nothing.
// Where there is no Terraform it skips the test.
func terraformOutputs(t *testing.T) (out outputs) {
	t.Helper()
	if _, err := exec.LookPath("terraform"); err != nil {
		t.Skip("terraform is not on this machine: what it computes is not compared")
	}
	state := "-state=" + filepath.Join(t.TempDir(), "state")
	terraform(t, "apply", "-auto-approve", "-input=false", state, "-var=project=my-project")
	if err := json.Unmarshal(terraform(t, "output", "-json", state), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func terraform(t *testing.T, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "terraform",
		append([]string{"-chdir=terraform/settings"}, args...)...)
	cmd.Env = append(os.Environ(), "CHECKPOINT_DISABLE=1", "TF_DATA_DIR="+t.TempDir())
	raw, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		t.Fatalf("terraform %q: %v\n%s", args, err, exit.Stderr)
	}
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
