package telemetry

import (
	"cmp"
	"runtime/debug"
)

// A Build says which build of the program runs.
type Build struct{ Version, Revision, Go string }

// ReadBuild returns what the linker knows of the build, or "unknown".
func ReadBuild() Build {
	b := Build{Version: "unknown", Revision: cmp.Or(revision, "unknown"), Go: "unknown"}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	b.Version, b.Go = info.Main.Version, info.GoVersion
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			b.Revision = s.Value
		}
	}
	return b
}
