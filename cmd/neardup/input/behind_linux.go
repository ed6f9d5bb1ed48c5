package input

import (
	"os"

	"golang.org/x/sys/unix"
)

// forget tells the system that a part of a file, which was read, is not needed in memory any more.
func forget(f *os.File, from, n int64) { unix.Fadvise(int(f.Fd()), from, n, unix.FADV_DONTNEED) }
