//go:build !linux

package input

import "os"

// forget does nothing: elsewhere the system is not told what is needed in memory.
func forget(f *os.File, from, n int64) {}
