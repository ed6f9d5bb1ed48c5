package textfile

import "golang.org/x/sys/unix"

// physical returns the memory of the machine.
func physical() int64 {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return 0
	}
	return int64(info.Totalram) * int64(info.Unit)
}
