package settings

import (
	"fmt"
	"regexp"
)

// Cloud are the settings that every program of the project shares. They have no prefix.
type Cloud struct {
	// Project is the Google Cloud project of the subscription and the database.
	Project string `envconfig:"GOOGLE_CLOUD_PROJECT" required:"true"`
	// Database is the Firestore database.
	Database string `envconfig:"FIRESTORE_DATABASE" default:"(default)"`
}

var (
	// Google's own rule is narrower (https://cloud.google.com/resource-manager/docs/creating-managing-projects),
	// but emulators take short names, and old projects belong to a domain, as in example.com:shop.
	projectForm = regexp.MustCompile(`^[a-z0-9]([a-z0-9.:_-]*[a-z0-9])?$`)
	// https://cloud.google.com/firestore/docs/manage-databases#database_id
	databaseForm = regexp.MustCompile(`^(\(default\)|[a-z][a-z0-9-]{2,61}[a-z0-9])$`)
)

// Validate implements Validator.
func (c *Cloud) Validate() (problems []string) {
	if !projectForm.MatchString(c.Project) {
		problems = append(problems, fmt.Sprintf("GOOGLE_CLOUD_PROJECT: %q is not a project id, "+
			"such as my-project", c.Project))
	}
	if !databaseForm.MatchString(c.Database) {
		problems = append(problems, fmt.Sprintf("FIRESTORE_DATABASE: %q is not a database id: want "+
			"(default) or 4 to 63 of a-z 0-9 -, beginning with a letter", c.Database))
	}
	return problems
}
