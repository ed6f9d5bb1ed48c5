package textfile

import (
	"os"
	"strconv"
	"strings"
	"sync"
)

// Machine returns the memory of the machine in bytes, or less if the system limits this process to less. It
// returns 0 if that cannot be found out.
func Machine() int64 { return machine() }

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
