// Package textfile keeps texts in a file, one after the other: in a temporary one if they do not fit in memory, or
// in one that outlives the program. It also says how much memory there is.
package textfile

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"

	"github.com/neardup/neardup/internal/format"
	"github.com/neardup/neardup/internal/lex"
	"github.com/neardup/neardup/internal/store"
)

// A File has texts behind each other, each with a checksum of 8 bytes before it, which is seeded with its place.
// It is removed when nobody refers to it any more, unless it has a name. All methods may be called by several
// goroutines.
//
// A File with a name begins with the head of all files of the library (package format). Nothing in it ever
// changes: texts are only added, and whoever adds them remembers where they are. So what a crash leaves at the
// end is of no use, and does no harm.
type File struct {
	file  *os.File
	kept  bool  // it has a name
	begin int64 // where the first text is

	mu      sync.Mutex
	buf     []byte // what was added, but not written
	written int64  // how long the file is
	dirty   bool   // some of it may not be on the disk
	failed  error  // of a writer: nothing more is added
	err     error  // the first one of a reader
}

const (
	sumBytes    = 8
	bufferBytes = 1 << 20
)

// Temporary makes an empty file in the folder for temporary files. It is removed at once where that is possible, so
// that nobody sees it and nothing is left behind, and otherwise when nobody refers to it any more.
func Temporary() (*File, error) {
	file, err := os.CreateTemp("", "neardup-*")
	if err != nil {
		return nil, fmt.Errorf("neardup: %w", err)
	}
	f := &File{file: file}
	if os.Remove(file.Name()) != nil {
		runtime.AddCleanup(f, func(file *os.File) {
			file.Close()
			os.Remove(file.Name())
		}, file)
	}
	return f, nil
}

// Create makes an empty file with a name, and replaces any other that has it.
func Create(path, kind, version string) (*File, error) {
	err := store.ReplaceFile(path, func(w *bufio.Writer) error {
		head := format.NewWriter(w, kind, version)
		return cmp.Or(head.W.Flush(), head.Err)
	})
	if err != nil {
		return nil, err
	}
	return Open(path, kind, version, "")
}

// Open opens a file that Create made. again is advice for an error about a file of another version.
func Open(path, kind, version, again string) (*File, error) {
	if err := isFile(path); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	f := &File{file: file, kept: true, dirty: true}
	var head *format.Reader
	if head, err = format.NewReader(file, kind, version, again); err == nil {
		at, failed := file.Seek(0, io.SeekCurrent)
		f.begin = at - int64(head.R.Buffered())
		f.written, err = file.Seek(0, io.SeekEnd)
		err = cmp.Or(failed, err)
	}
	if err != nil {
		return nil, errors.Join(f.named(err), f.Close())
	}
	return f, nil
}

// isFile returns an error for what is there and is no file: a pipe, from which a reader would wait for ever, or a link to
// nothing.
func isFile(path string) error {
	if _, err := os.Lstat(path); err != nil {
		return nil // opening it says what is wrong
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return store.InFile(path, errors.New("it is a link to nothing"))
	case !info.Mode().IsRegular():
		return store.InFile(path, errors.New("it is no regular file"))
	}
	return nil
}

// Append adds a text and returns where it is. After an error nothing more can be added.
func (f *File) Append(text string) (at int64, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failed != nil {
		return 0, f.failed
	}
	at = f.written + int64(len(f.buf))
	f.buf = binary.LittleEndian.AppendUint64(f.buf, format.Checksum(lex.Bytes(text), uint64(at)))
	f.buf = append(f.buf, text...)
	if len(f.buf) >= bufferBytes {
		err = f.write()
	}
	return at, err
}

// write writes what was added. The caller holds the lock.
func (f *File) write() error {
	if len(f.buf) == 0 || f.failed != nil {
		return f.failed
	}
	f.dirty = true
	if _, err := f.file.WriteAt(f.buf, f.written); err != nil {
		f.failed = f.named(err)
		return f.failed
	}
	f.written += int64(len(f.buf))
	f.buf = f.buf[:0]
	return nil
}

// named says which file has an error.
func (f *File) named(err error) error { return store.InFile(f.file.Name(), err) }

// Write writes what was added. It outlives the program then, but not the machine.
func (f *File) Write() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.write()
}

// Sync writes what was added and, if the file has a name, puts it on the disk.
func (f *File) Sync() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.write(); err != nil || !f.dirty || !f.kept {
		return err
	}
	if err := f.file.Sync(); err != nil {
		f.failed = f.named(err)
		return f.failed
	}
	f.dirty = false
	return nil
}

// Size returns how long the file is, with what was not written yet.
func (f *File) Size() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.written + int64(len(f.buf))
}

// Begin returns where the first text is.
func (f *File) Begin() int64 { return f.begin }

// Bytes returns how much of a file a text of n bytes takes.
func Bytes(n int) int64 { return sumBytes + int64(n) }

// Read returns the text of n bytes at a place. It lies in buf, which grows, and is only valid until buf is
// used again. A text that cannot be read is empty, and Err has the error.
func (f *File) Read(at int64, n int, buf *[]byte) string {
	size := int(Bytes(n))
	if cap(*buf) < size {
		*buf = make([]byte, size+size/4)
	}
	b := (*buf)[:size]
	if err := f.read(b, at); err != nil {
		f.mu.Lock()
		f.err = cmp.Or(f.err, f.named(err))
		f.mu.Unlock()
		return ""
	}
	return lex.String(b[sumBytes:])
}

// read reads a text with its checksum.
func (f *File) read(b []byte, at int64) error {
	f.mu.Lock()
	isWritten := at < f.written
	if !isWritten { // the buffer is written as a whole, so all of the text is in it
		n := 0
		if from := at - f.written; from < int64(len(f.buf)) {
			n = copy(b, f.buf[from:])
		}
		clear(b[n:])
	}
	f.mu.Unlock()
	if isWritten {
		if _, err := f.file.ReadAt(b, at); errors.Is(err, io.EOF) {
			return fmt.Errorf("%w: the text at byte %d is cut off", format.ErrDamaged, at)
		} else if err != nil {
			return err
		}
	}
	if binary.LittleEndian.Uint64(b) != format.Checksum(b[sumBytes:], uint64(at)) {
		return fmt.Errorf("%w: the checksum of the text at byte %d does not fit", format.ErrDamaged, at)
	}
	return nil
}

// Err returns the first error of Read, or nil.
func (f *File) Err() error {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// Close closes the file. What is not written is lost, so Sync comes before it.
func (f *File) Close() error { return f.file.Close() }
