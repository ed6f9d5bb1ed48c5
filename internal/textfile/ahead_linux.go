package textfile

import "golang.org/x/sys/unix"

// readAhead asks the system to read a part of a file into memory, and does not wait for it.
func (f *File) readAhead(at, n int64) { unix.Fadvise(int(f.file.Fd()), at, n, unix.FADV_WILLNEED) }
