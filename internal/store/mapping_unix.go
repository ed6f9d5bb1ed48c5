//go:build unix

package store

import (
	"os"

	"golang.org/x/sys/unix"
)

// This file maps files into memory.

// mapFile maps a file for reading. It returns nil if that is not possible.
func mapFile(f *os.File, size int) []byte {
	data, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil
	}
	return data
}

// unmap ends a mapping. Nobody may use its bytes any more.
func unmap(data []byte) { unix.Munmap(data) }
