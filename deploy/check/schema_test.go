package check

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/api/run/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	strict "sigs.k8s.io/yaml"
)

// kinds are what the manifests may be made of.
var kinds = map[metav1.TypeMeta]func() any{
	{APIVersion: "v1", Kind: "Namespace"}:                               func() any { return new(corev1.Namespace) },
	{APIVersion: "v1", Kind: "ServiceAccount"}:                          func() any { return new(corev1.ServiceAccount) },
	{APIVersion: "apps/v1", Kind: "Deployment"}:                         func() any { return new(appsv1.Deployment) },
	{APIVersion: "batch/v1", Kind: "CronJob"}:                           func() any { return new(batchv1.CronJob) },
	{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"}:              func() any { return new(policyv1.PodDisruptionBudget) },
	{APIVersion: "autoscaling/v2", Kind: "HorizontalPodAutoscaler"}:     func() any { return new(autoscalingv2.HorizontalPodAutoscaler) },
	{APIVersion: "monitoring.googleapis.com/v1", Kind: "PodMonitoring"}: func() any { return new(podMonitoring) },
	{APIVersion: "run.googleapis.com/v1", Kind: "WorkerPool"}:           func() any { return new(run.WorkerPool) },
	{APIVersion: "run.googleapis.com/v1", Kind: "Job"}:                  func() any { return new(run.Job) },
}

// podMonitoring is what is used of https://github.com/GoogleCloudPlatform/prometheus-engine, whose
// types need a whole controller to import.
type podMonitoring struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Selector  metav1.LabelSelector `json:"selector"`
		Endpoints []struct {
			Port     string `json:"port"`
			Path     string `json:"path"`
			Interval string `json:"interval"`
		} `json:"endpoints"`
	} `json:"spec"`
}

func TestSchemas(t *testing.T) {
	for _, folder := range []string{"../k8s", "../cloudrun"} {
		files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
		if err != nil || len(files) < 4 {
			t.Fatalf("%d manifests in %s (%v)", len(files), folder, err)
		}
		for _, file := range files {
			if filepath.Base(file) == "kustomization.yaml" {
				continue // make deploy-check has kubectl build it
			}
			checkFile(t, file)
		}
	}
}

// checkFile decodes each document of a file as its kind, and refuses what the kind does not have.
func checkFile(t *testing.T, file string) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	reader := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(raw)))
	for {
		doc, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		var kind metav1.TypeMeta
		if err := strict.Unmarshal(doc, &kind); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		into := kinds[kind]
		if into == nil {
			t.Errorf("%s: no such kind as %v", file, kind)
			continue
		}
		if err := strict.UnmarshalStrict(doc, into()); err != nil {
			t.Errorf("%s: %s: %v", file, kind.Kind, err)
		}
	}
}
