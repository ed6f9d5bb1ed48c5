package textfile

import (
	"os"

	"golang.org/x/sys/unix"
)

// physical returns the memory of the machine, or less if a control group leaves less to this process.
func physical() int64 {
	var info unix.Sysinfo_t
	limit := groupLimit(os.DirFS("/"))
	if unix.Sysinfo(&info) != nil {
		return limit
	}
	memory := int64(info.Totalram) * int64(info.Unit)
	if limit > 0 {
		memory = min(memory, limit)
	}
	return memory
}
