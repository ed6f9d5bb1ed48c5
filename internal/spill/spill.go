// Package spill keeps texts that do not fit in memory in a temporary file, and says how much memory there is.
package spill

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"

	"github.com/neardup/neardup/internal/lex"
)

// A File has texts, one after the other. It is removed when nobody refers to it any more. Texts may be read
// by several goroutines; Append is for one.
type File struct {
	file *os.File
	w    *bufio.Writer
	size int64

	mu  sync.Mutex
	err error // the first one of a reader
}

// New makes an empty file in the folder for temporary files.
func New() (*File, error) {
	s := &File{}
	var err error
	if s.file, err = Temporary(s); err != nil {
		return nil, err
	}
	s.w = bufio.NewWriterSize(s.file, 1<<20)
	return s, nil
}

// Temporary makes a file in the folder for temporary files. It is removed at once where that is possible, so
// that nobody sees it and nothing is left behind, and otherwise when nobody refers to its owner any more.
func Temporary[T any](owner *T) (*os.File, error) {
	f, err := os.CreateTemp("", "neardup-*")
	if err != nil {
		return nil, fmt.Errorf("neardup: %w", err)
	}
	if os.Remove(f.Name()) != nil {
		runtime.AddCleanup(owner, func(f *os.File) {
			f.Close()
			os.Remove(f.Name())
		}, f)
	}
	return f, nil
}

// Append adds a text and returns where it is. The text can be read after Flush.
func (s *File) Append(text string) (at int64, err error) {
	at = s.size
	if _, err := s.w.WriteString(text); err != nil {
		return 0, fmt.Errorf("neardup: %s: %w", s.file.Name(), err)
	}
	s.size += int64(len(text))
	return at, nil
}

// Flush writes what was added. If it fails, nothing that was added since the last Flush can be read, and
// nothing more can be added.
func (s *File) Flush() error {
	if err := s.w.Flush(); err != nil {
		return fmt.Errorf("neardup: %s: %w", s.file.Name(), err)
	}
	return nil
}

// Size returns how many bytes were added.
func (s *File) Size() int64 { return s.size }

// Read returns the text of n bytes at a place. It lies in buf, which grows, and is only valid until buf is
// used again. A text that cannot be read is empty, and Err has the error.
func (s *File) Read(at int64, n int, buf *[]byte) string {
	if cap(*buf) < n {
		*buf = make([]byte, n+n/4)
	}
	b := (*buf)[:n]
	if _, err := s.file.ReadAt(b, at); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		s.mu.Lock()
		s.err = errors.Join(s.err, fmt.Errorf("neardup: %s: %w", s.file.Name(), err))
		s.mu.Unlock()
		return ""
	}
	return lex.String(b)
}

// Err returns the errors of Read, or nil.
func (s *File) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Damage makes every Read fail. It is for tests.
func (s *File) Damage() { s.file.Close() }
