package textfile

import (
	"cmp"
	"os"
	"strconv"
	"strings"
	"sync"
)

// Machine returns the memory of the machine in bytes, or less if the system limits this process to less. It
// returns 0 if that cannot be found out.
func Machine() int64 { return machine() }

// Budget returns how much memory may be used: what was said, or if that is 0 half of the memory of the machine, or a gigabyte if that
// cannot be found out.
func Budget(said int64) int64 { return cmp.Or(said, Machine()/2, 1<<30) }

// machine asks the system once.
var machine = sync.OnceValue(func() int64 {
	machine := physical()
	// The limits of Linux for groups of processes, of both versions. A process may be in a group below, but
	// in a container these are its own.
	for _, path := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		b, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		if limit, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64); err == nil && limit > 0 && (machine == 0 || limit < machine) {
			machine = limit
		}
	}
	return machine
})
