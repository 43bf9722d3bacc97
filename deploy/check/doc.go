// Package check holds the manifests of deploy to the published types of Kubernetes and Cloud Run:
// make deploy-check. It is a module of its own, since those types bring more dependencies than the
// programs have, and nothing that runs needs them.
package check
