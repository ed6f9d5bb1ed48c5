//go:build !linux

package main

import "os"

// peakOf returns 0, because the peak memory is only known on Linux.
func peakOf(*os.ProcessState) int64 { return 0 }
