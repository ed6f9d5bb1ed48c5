//go:build unix

package cost

import (
	"os"
	"syscall"
)

// maxRSS returns the most memory that a process had, as the system counts it.
func maxRSS(p *os.ProcessState) int64 {
	if u, ok := p.SysUsage().(*syscall.Rusage); ok {
		return int64(u.Maxrss)
	}
	return 0
}
