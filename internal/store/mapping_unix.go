//go:build unix

package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// mapFile maps a file for reading, or returns nil if that cannot be.
func mapFile(f *os.File, size int) []byte {
	data, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil
	}
	return data
}

func unmap(data []byte) { unix.Munmap(data) }

// lockFile makes sure that nobody else has the file locked, until it is closed.
func lockFile(f *os.File) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return fmt.Errorf("%s: another process, or this one, has the index open", f.Name())
	}
	return err
}

// openDirectory opens the directory in which a file is.
func openDirectory(path string) (*os.File, error) { return os.Open(filepath.Dir(path)) }

// syncDirectory makes sure that the names of files are on the disk, where file systems
// know of such a thing.
func syncDirectory(dir *os.File) error {
	if err := dir.Sync(); err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOTSUP) {
		return err
	}
	return nil
}
