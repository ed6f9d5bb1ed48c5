//go:build unix

package slots

import (
	"os"

	"golang.org/x/sys/unix"
)

// canMap says whether files can be mapped.
const canMap = true

// mapExtent maps a part of a file for reading and writing.
func mapExtent(f *os.File, at int64, size int) ([]byte, error) {
	return unix.Mmap(int(f.Fd()), at, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
}

// unmapExtent ends a mapping.
func unmapExtent(b []byte) { unix.Munmap(b) }

// release lets the system take the memory of an extent, whose values stay in the file.
func release(b []byte) { unix.Madvise(b, unix.MADV_DONTNEED) }
