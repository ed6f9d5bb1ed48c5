package main

import (
	"os"
	"syscall"
)

// peakOf returns the peak memory of a process that has ended, in bytes.
func peakOf(p *os.ProcessState) int64 { return p.SysUsage().(*syscall.Rusage).Maxrss << 10 }
