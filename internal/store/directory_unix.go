//go:build unix

package store

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// This file syncs directories, so that the names of new files survive a crash.

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
