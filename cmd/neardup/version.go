package main

import "runtime/debug"

// programVersion returns the name and the version of the program.
func programVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return "neardup " + info.Main.Version
	}
	return "neardup (unknown)"
}
