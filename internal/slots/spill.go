package slots

import (
	"fmt"
	"os"
	"runtime"
	"unsafe"
)

// This file lets the pieces of a column that do not fit into its memory stand in a temporary file, which is mapped: the system keeps
// those in memory that are used, and writes the others to the disk. Where no file can be mapped, all pieces are in memory.

// A spill is the temporary file of a column. Snapshots share it; the file is gone when nobody refers to it any more.
type spill struct {
	most   int64 // how many bytes of pieces are in memory
	before int64 // how many bytes of pieces there were before it
	mapped *extents
	left   []byte // of the last extent
}

// The extents of a temporary file are the parts that have been mapped.
type extents struct {
	file *os.File
	all  [][]byte
}

// An extent has some pieces, and at least extentBytes: so large that there are few, and so small that a file has little more than it needs.
// perExtent pieces of any values fill whole pages, which have up to 64 KB.
const (
	perExtent   = 16
	extentBytes = 4 << 20
)

// Limited returns an empty column of values without pointers, of which about so many bytes are in memory. The others stand in a temporary
// file. Whoever appends calls [Column.MakeRoom] before.
func Limited[T any](memory int64) Column[T] { return Column[T]{spill: &spill{most: memory}} }

// Limit makes a column limited: about so many bytes of what is appended from now on are in memory.
func (c *Column[T]) Limit(memory int64) {
	c.spill = &spill{most: memory, before: int64(len(c.chunks)) * chunkBytes[T]()}
}

// IsSpilled reports whether a part of the values stands in a temporary file.
func (c *Column[T]) IsSpilled() bool { return c.spill != nil && c.spill.mapped != nil }

// Empty returns an empty column that is limited as c is.
func (c *Column[T]) Empty() Column[T] {
	if c.spill == nil {
		return Column[T]{}
	}
	return Limited[T](c.spill.most)
}

// MostRoom is how many values [Column.MakeRoom] makes room for at most.
const MostRoom = chunk

// MakeRoom makes room for the next n values, at most MostRoom. It fails if the temporary file cannot be made or cannot grow;
// then nothing has changed. Without it, Append takes memory.
func (c *Column[T]) MakeRoom(n int) error {
	if !canMap || c.spill == nil || c.n+n <= len(c.chunks)<<chunkBits || int64(len(c.chunks))*chunkBytes[T]()-c.spill.before < c.spill.most {
		return nil
	}
	return c.spill.makeRoom(int(chunkBytes[T]()))
}

// makeRoom makes an extent, unless the last one has room for size bytes. That one is not looked at soon: it need not be in memory.
func (s *spill) makeRoom(size int) error {
	if len(s.left) >= size {
		return nil
	}
	if s.mapped == nil {
		if err := s.open(); err != nil {
			return err
		}
	}
	size *= perExtent
	extent, err := s.mapped.grow((extentBytes + size - 1) / size * size)
	if err != nil {
		return fmt.Errorf("neardup: cannot extend the temporary file for what does not fit in memory: %w", err)
	}
	s.left = extent
	return nil
}

// open makes the temporary file.
func (s *spill) open() error {
	file, err := os.CreateTemp("", "neardup-*")
	if err != nil {
		return fmt.Errorf("neardup: cannot create a temporary file for what does not fit in memory: %w", err)
	}
	os.Remove(file.Name())
	s.mapped = &extents{file: file}
	runtime.AddCleanup(s, (*extents).close, s.mapped)
	return nil
}

// take returns room for a piece, or nil if there is none.
func (s *spill) take(size int) []byte {
	if s == nil || len(s.left) < size {
		return nil
	}
	b := s.left[:size:size]
	s.left = s.left[size:]
	return b
}

// grow maps a new extent of zeros. They are written, so that the disk has room for what will stand there.
func (e *extents) grow(size int) ([]byte, error) {
	at, zeros := int64(0), make([]byte, min(size, 1<<20))
	for _, x := range e.all {
		at += int64(len(x))
	}
	for n := 0; n < size; n += len(zeros) {
		if _, err := e.file.WriteAt(zeros[:min(len(zeros), size-n)], at+int64(n)); err != nil {
			return nil, err
		}
	}
	extent, err := mapExtent(e.file, at, size)
	if err != nil {
		return nil, err
	}
	if n := len(e.all); n > 0 {
		release(e.all[n-1])
	}
	e.all = append(e.all, extent)
	return extent, nil
}

// close gives the file back. Nobody may use it any more.
func (e *extents) close() {
	for _, x := range e.all {
		if x != nil {
			unmapExtent(x)
		}
	}
	e.file.Close()
}

// A Shelf is a temporary file for columns that are made at once, and to which nobody appends. The file is gone when nobody refers to the shelf or
// one of its columns any more. A nil shelf has columns in memory.
type Shelf struct {
	spill *spill
	room  int64 // for each column
}

// NewShelf returns a shelf for so many columns of up to so many values. If there is no temporary file, they are in memory.
func NewShelf[T any](columns, values int) *Shelf {
	// Columns begin at the beginning of a page of memory, as extents do.
	pieces := (int64(values+chunk-1)/chunk + perExtent - 1) / perExtent * perExtent
	s := &Shelf{&spill{}, pieces * chunkBytes[T]()}
	if !canMap || s.spill.open() != nil {
		return nil
	}
	s.spill.mapped.all = make([][]byte, columns)
	return s
}

// Shelve returns column number i of a shelf, with values. If there is no shelf or no room on the disk it keeps values in memory; see
// [Column.IsSpilled]. Several goroutines may make one column each.
func Shelve[T any](s *Shelf, i int, values []T) (c Column[T]) {
	if s == nil || len(values) == 0 {
		return Of(values)
	}
	extent := s.write(i, Bytes(values), int64(len(values)+chunk-1)/chunk*chunkBytes[T]())
	if extent == nil {
		return Of(values)
	}
	for size := chunkBytes[T](); len(extent) > 0; extent = extent[size:] {
		c.grow((*[chunk]T)(unsafe.Pointer(unsafe.SliceData(extent))), false)
	}
	c.n, c.spill = len(values), s.spill
	return c
}

// write writes bytes, and zeros up to a size, where column i has its place, and maps them. It returns nil if it cannot.
func (s *Shelf) write(i int, b []byte, size int64) []byte {
	e, at := s.spill.mapped, int64(i)*s.room
	if _, err := e.file.WriteAt(b, at); err != nil {
		return nil
	}
	if pad := size - int64(len(b)); pad > 0 {
		if _, err := e.file.WriteAt(make([]byte, pad), at+int64(len(b))); err != nil {
			return nil
		}
	}
	extent, err := mapExtent(e.file, at, int(size))
	if err != nil {
		return nil
	}
	e.all[i] = extent
	return extent
}
