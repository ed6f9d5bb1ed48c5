package textfile

import "golang.org/x/sys/unix"

// readAhead asks the system to read a part of a file into memory, and does not wait for it.
func (f *File) readAhead(at, n int64) {
	if c, err := f.file.SyscallConn(); err == nil { // which keeps the file open meanwhile
		c.Control(func(fd uintptr) { unix.Fadvise(int(fd), at, n, unix.FADV_WILLNEED) })
	}
}
