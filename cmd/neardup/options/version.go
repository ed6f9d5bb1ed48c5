package options

import (
	"cmp"
	"runtime/debug"
)

// version is set by the linker in releases and images.
var version string

// ProgramVersion returns the name and the version of the program.
func ProgramVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok && version == "" {
		return "neardup " + info.Main.Version
	}
	return "neardup " + cmp.Or(version, "(unknown)")
}
