package telemetry

// revision is the commit that was built, where the history is not at hand for Go to find it: an
// image is built without .git.
//
//	go build -ldflags "-X github.com/atlasmart/ordertally/internal/telemetry.revision=COMMIT" …
var revision string
