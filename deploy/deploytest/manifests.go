// Package deploytest reads what the files of deploy and docs say of the programs, for the tests
// of the programs and of the files. Each function takes the folder of the module.
package deploytest

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

// A Container is what Kubernetes and Cloud Run both call one.
type Container struct {
	File  string        // such as k8s/worker.yaml
	Grace time.Duration // from SIGTERM until the platform kills

	Name      string
	Command   []string
	Args      []string
	Env       []struct{ Name, Value string }
	Ports     []Port
	Startup   *Probe `yaml:"startupProbe"`
	Liveness  *Probe `yaml:"livenessProbe"`
	Readiness *Probe `yaml:"readinessProbe"`
}

// A Port is a port of a container.
type Port struct {
	Name          string
	ContainerPort int `yaml:"containerPort"`
}

// A Probe is a question over HTTP.
type Probe struct {
	HTTPGet struct {
		Path string
		Port any // a number, or the name of a port
	} `yaml:"httpGet"`
}

// Environ returns the container's settings by their names.
func (c Container) Environ() map[string]string {
	env := map[string]string{}
	for _, e := range c.Env {
		env[e.Name] = e.Value
	}
	return env
}

// Manifests returns every YAML document of deploy's folders for the two platforms, by its file.
func Manifests(tb testing.TB, module string) map[string][]map[string]any {
	tb.Helper()
	docs := map[string][]map[string]any{}
	for _, folder := range []string{"k8s", "cloudrun"} {
		files, err := filepath.Glob(filepath.Join(module, "deploy", folder, "*.yaml"))
		if err != nil || len(files) == 0 {
			tb.Fatalf("no manifests in deploy/%s (%v)", folder, err)
		}
		for _, file := range files {
			name := folder + "/" + filepath.Base(file)
			docs[name] = readDocuments(tb, file)
		}
	}
	return docs
}

func readDocuments(tb testing.TB, file string) (docs []map[string]any) {
	tb.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		tb.Fatal(err)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(raw)) // refuses a key that is there twice
	for {
		var doc map[string]any
		err := decoder.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return docs
		}
		if err != nil {
			tb.Fatalf("%s: %v", file, err)
		}
		docs = append(docs, doc)
	}
}

// Containers returns the containers of all manifests that run a program: worker or rollup.
func Containers(tb testing.TB, module, program string) []Container {
	tb.Helper()
	var found []Container
	for file, docs := range Manifests(tb, module) {
		for _, doc := range docs {
			for _, c := range ContainersOf(tb, file, doc) {
				if len(c.Command) > 0 && c.Command[0] == "/"+program {
					found = append(found, c)
				}
			}
		}
	}
	if len(found) == 0 {
		tb.Fatalf("no container runs /%s", program)
	}
	return found
}

// ContainersOf returns the containers of one document of a file, wherever they are in it.
func ContainersOf(tb testing.TB, file string, doc any) (found []Container) {
	tb.Helper()
	switch v := doc.(type) {
	case map[string]any:
		if _, ok := v["containers"]; ok {
			return decode(tb, file, v)
		}
		for _, w := range v {
			found = append(found, ContainersOf(tb, file, w)...)
		}
	case []any:
		for _, w := range v {
			found = append(found, ContainersOf(tb, file, w)...)
		}
	}
	return found
}

// The platforms' own time from SIGTERM to SIGKILL, in seconds.
const (
	cloudRunGrace   = 10
	kubernetesGrace = 30
)

func decode(tb testing.TB, file string, spec map[string]any) []Container {
	tb.Helper()
	raw, err := yaml.Marshal(spec)
	if err != nil {
		tb.Fatal(err)
	}
	pod := struct {
		Grace      int `yaml:"terminationGracePeriodSeconds"`
		Containers []Container
	}{Grace: cloudRunGrace}
	if filepath.Dir(file) == "k8s" {
		pod.Grace = kubernetesGrace
	}
	if err := yaml.Unmarshal(raw, &pod); err != nil {
		tb.Fatalf("%s: %v", file, err)
	}
	for i := range pod.Containers {
		pod.Containers[i].File = file
		pod.Containers[i].Grace = time.Duration(pod.Grace) * time.Second
	}
	return pod.Containers
}
