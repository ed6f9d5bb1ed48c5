//go:build unix

package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// This file has what the package asks of a Unix system. mapping_other.go has the same functions for
// other systems.

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

// lockFile locks a file until unlockFile. It returns an error if somebody else has locked it,
// also within this process. The system releases the lock when the process ends, however it ends.
func lockFile(f *os.File) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return fmt.Errorf("%s: another process, or this one, has the files open", f.Name())
	}
	return err
}

// unlockFile unlocks and closes a file. To close it would not be enough: a lock also belongs to the
// copies of a file descriptor, and a process that is being started has copies of all for a moment.
func unlockFile(f *os.File) {
	unix.Flock(int(f.Fd()), unix.LOCK_UN)
	f.Close()
}

// openDirectory opens the directory that a file is in.
func openDirectory(path string) (*os.File, error) { return os.Open(filepath.Dir(path)) }

// syncDirectory makes sure that the names of files are on the disk. Some file systems cannot do
// that and say so; that is no error.
func syncDirectory(dir *os.File) error {
	if err := dir.Sync(); err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOTSUP) {
		return err
	}
	return nil
}
