// Package peak tells how much memory a process has used.
package peak

import (
	"os"
	"syscall"
)

// Of returns the peak memory of a process that has ended, in bytes.
func Of(p *os.ProcessState) int64 { return p.SysUsage().(*syscall.Rusage).Maxrss << 10 }
