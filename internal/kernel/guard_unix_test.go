//go:build unix

package kernel

import (
	"testing"

	"golang.org/x/sys/unix"
)

// guarded returns n bytes, with a page behind them that must not be read.
func guarded(t *testing.T, n int) []byte {
	page := unix.Getpagesize()
	size := (n + page - 1) / page * page
	memory, err := unix.Mmap(-1, 0, size+page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Munmap(memory); err != nil {
			t.Error(err)
		}
	})
	if err := unix.Mprotect(memory[size:], unix.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	return memory[size-n : size : size]
}
