package deploy

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/atlasmart/ordertally/deploy/deploytest"
)

// workers returns the worker's container of each platform.
func workers(t *testing.T) []deploytest.Container {
	t.Helper()
	w := deploytest.Containers(t, "..", "worker")
	if len(w) != 2 {
		t.Fatalf("%d workers, want one on each platform", len(w))
	}
	return w
}

// TestGrace wants that the worker has drained before its platform kills it.
func TestGrace(t *testing.T) {
	const toExit = 2 * time.Second // after the grace: a last flush, closing clients and server
	for _, c := range workers(t) {
		grace, err := time.ParseDuration(c.Environ()["WORKER_SHUTDOWN_GRACE"])
		if err != nil || grace+toExit > c.Grace {
			t.Errorf("%s: WORKER_SHUTDOWN_GRACE is %v (%v), and the platform kills after %v",
				c.File, grace, err, c.Grace)
		}
	}
}

// TestProbes wants that each probe asks the port that the worker listens on for a path that it
// serves.
func TestProbes(t *testing.T) {
	for _, c := range workers(t) {
		_, listens, _ := strings.Cut(c.Environ()["WORKER_LISTEN"], ":")
		n := 0
		for name, p := range map[string]*deploytest.Probe{
			"startup": c.Startup, "liveness": c.Liveness, "readiness": c.Readiness} {
			if p == nil {
				continue
			}
			n++
			if got := portOf(c, p.HTTPGet.Port); got != listens {
				t.Errorf("%s: the %s probe asks port %s, and the worker listens on %s",
					c.File, name, got, listens)
			}
			wantServed(t, c.File, p.HTTPGet.Path)
		}
		if n != 2 || c.Liveness == nil {
			t.Errorf("%s: %d probes, want one for liveness and one for readiness", c.File, n)
		}
	}
}

// portOf resolves the name of a port.
func portOf(c deploytest.Container, v any) string {
	for _, p := range c.Ports {
		if p.Name == v {
			v = p.ContainerPort
		}
	}
	return fmt.Sprint(v)
}

// wantServed wants that the programs serve a path.
func wantServed(t *testing.T, file, path string) {
	t.Helper()
	if !strings.Contains(read(t, "../internal/telemetry/server.go"), `"GET `+path+`"`) {
		t.Errorf("%s asks for %s, which internal/telemetry does not serve", file, path)
	}
}

// TestScrape wants that Prometheus finds the worker's port and path.
func TestScrape(t *testing.T) {
	const file = "k8s/worker.yaml"
	endpoint := oneOf(t, file, "PodMonitoring", "spec", "endpoints")
	wantServed(t, file, endpoint["path"].(string))
	for _, c := range workers(t) {
		if c.File == file && portOf(c, endpoint["port"]) != "8080" {
			t.Errorf("%s: the scraped port is %v, which the container does not name",
				file, endpoint["port"])
		}
	}
}

// oneOf returns the first object of the list at a path in the document of a kind.
func oneOf(t *testing.T, file, kind string, path ...string) map[string]any {
	t.Helper()
	for _, doc := range deploytest.Manifests(t, "..")[file] {
		if doc["kind"] != kind {
			continue
		}
		var v any = doc
		for _, key := range path {
			m, _ := v.(map[string]any)
			v = m[key]
		}
		if list, ok := v.([]any); ok && len(list) > 0 {
			return list[0].(map[string]any)
		}
	}
	t.Fatalf("%s: no %s with %q", file, kind, path)
	return nil
}

// TestNames wants one name for each thing that several files name.
func TestNames(t *testing.T) {
	for _, c := range workers(t) {
		subscription := c.Environ()["WORKER_SUBSCRIPTION"]
		if c.File == "k8s/worker.yaml" {
			wantLine(t, c.File, "resource.labels.subscription_id: "+subscription)
		}
	}
	for _, account := range []string{"ordertally-worker", "ordertally-rollup"} {
		wantLine(t, "terraform/identity.tf", `account_id   = "`+account+`"`)
		email := account + "@my-project.iam.gserviceaccount.com"
		_, program, _ := strings.Cut(account, "-")
		wantLine(t, "k8s/"+program+".yaml", "iam.gke.io/gcp-service-account: "+email)
		file := map[string]string{"worker": "worker-pool.yaml", "rollup": "rollup-job.yaml"}[program]
		wantLine(t, "cloudrun/"+file, "serviceAccountName: "+email)
	}
}

func wantLine(t *testing.T, file, line string) {
	t.Helper()
	for l := range strings.Lines(read(t, file)) {
		if strings.TrimSpace(l) == line {
			return
		}
	}
	t.Errorf("%s has no line %q", file, line)
}

// TestJobs wants the same jobs at the same times on both platforms and in Terraform.
func TestJobs(t *testing.T) {
	want := map[string]string{
		"/rollup":                    "* * * * *",
		"/rollup check -max-age 5m":  "*/5 * * * *",
		"/rollup audit -timeout 50m": "17 3 * * *",
	}
	k8s := map[string]string{}
	docs := deploytest.Manifests(t, "..")
	for _, doc := range docs["k8s/rollup.yaml"] {
		for _, c := range deploytest.ContainersOf(t, "k8s/rollup.yaml", doc) {
			k8s[words(c)] = doc["spec"].(map[string]any)["schedule"].(string)
		}
	}
	if diff := cmp.Diff(want, k8s); diff != "" {
		t.Errorf("k8s/rollup.yaml (-want +got):\n%s", diff)
	}
	script := regexp.MustCompile(`(?m)^schedule (\w+) '(.*)'$`)
	cloudRun := map[string]string{}
	for name, schedule := range submatches(t, "cloudrun/apply.sh", script) {
		file := "cloudrun/" + name + "-job.yaml"
		for _, c := range deploytest.ContainersOf(t, file, docs[file][0]) {
			cloudRun[words(c)] = schedule
		}
	}
	if diff := cmp.Diff(want, cloudRun); diff != "" {
		t.Errorf("cloudrun (-want +got):\n%s", diff)
	}
	hcl := regexp.MustCompile(`(?m)args = \[(.*)\], schedule = "(.*?)"`)
	terraform := map[string]string{}
	for args, schedule := range submatches(t, "terraform/run.tf", hcl) {
		words := strings.TrimSpace("/rollup " + strings.NewReplacer(`"`, "", ",", "").Replace(args))
		terraform[words] = schedule
	}
	if diff := cmp.Diff(want, terraform); diff != "" {
		t.Errorf("terraform/run.tf (-want +got):\n%s", diff)
	}
}

// words are a container's program and its arguments.
func words(c deploytest.Container) string { return strings.Join(append(c.Command, c.Args...), " ") }

// submatches returns the second group of every match by the first.
func submatches(t *testing.T, file string, form *regexp.Regexp) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, m := range form.FindAllStringSubmatch(read(t, file), -1) {
		found[m[1]] = m[2]
	}
	return found
}
