package options

import "runtime/debug"

// ProgramVersion returns the name and the version of the program.
func ProgramVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return "neardup " + info.Main.Version
	}
	return "neardup (unknown)"
}
