//go:build !linux

package peak

import "os"

// Of returns 0, because the peak memory is only known on Linux.
func Of(*os.ProcessState) int64 { return 0 }
