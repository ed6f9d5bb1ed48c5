//go:build unix

package store

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// This file locks files, so that one process at a time has them open.

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
