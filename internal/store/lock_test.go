//go:build unix

package store

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestUnlockCopies: a process that is being started has copies of all file descriptors for a moment.
// They must not keep the lock.
func TestUnlockCopies(t *testing.T) {
	open := func() *os.File {
		f, err := os.OpenFile(filepath.Join(t.TempDir(), "..", "lock"), os.O_RDWR|os.O_CREATE, 0o666)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	first, second := open(), open()
	if err := lockFile(first); err != nil {
		t.Fatal(err)
	}
	if err := lockFile(second); err == nil {
		t.Fatal("two have the lock")
	}
	other, err := unix.Dup(int(first.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(other)
	unlockFile(first)
	if err := lockFile(second); err != nil {
		t.Error(err)
	}
}
