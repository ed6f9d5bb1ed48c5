package main

import (
	"os"
	"syscall"
)

// peakOf returns the largest memory of a process in bytes.
func peakOf(p *os.ProcessState) int64 { return p.SysUsage().(*syscall.Rusage).Maxrss << 10 }
