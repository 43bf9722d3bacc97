package settings

// Cloud are the settings that every program of the project shares. They have no prefix.
type Cloud struct {
	// Project is the Google Cloud project of the subscription and the database.
	Project string `envconfig:"GOOGLE_CLOUD_PROJECT" required:"true"`
	// Database is the Firestore database.
	Database string `envconfig:"FIRESTORE_DATABASE" default:"(default)"`
}
