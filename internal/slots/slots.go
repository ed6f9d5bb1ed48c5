// Package slots keeps what is known of many things, each by the number of its slot: in columns ([Column]), and in tables
// that find a slot by a hash ([Table]).
//
// Millions of documents are known by a few numbers each, so these stand in large pieces without pointers: the collector of
// the Go runtime does not look into them, and nothing is copied when there are more. A column can be shared: a snapshot
// keeps what the column has now, and a piece is copied when it is written to for the first time after that.
package slots

import (
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/neardup/neardup/internal/format"
)

// chunk is how many values are in a piece: so many that a piece is worth an allocation, and so few that to copy one takes
// microseconds.
const (
	chunkBits = 12
	chunk     = 1 << chunkBits
)

// A Column is values by slot, from 0 on. The zero value is empty. Changes must not run beside other methods.
//
// The values of a mapped column stand in a file. A piece of them is checked when it is first used, and copied when it is first
// changed.
type Column[T any] struct {
	chunks []atomic.Pointer[[chunk]T] // nil: in the file, and not checked yet
	owned  []bool                     // by chunk: no snapshot has it, and neither has the file
	n      int
	file   *mapped[T] // nil if there is none
	spill  *spill     // where pieces stand that do not fit into memory; nil for a column that is all in memory
}

// A mapped is values in a file.
type mapped[T any] struct {
	values []T
	check  func(from int, values []T) error
	fail   func(err error)
}

// Len returns the number of values.
func (c *Column[T]) Len() int { return c.n }

// Append appends a value.
func (c *Column[T]) Append(v T) {
	if c.n>>chunkBits == len(c.chunks) {
		c.grow(c.piece(), true)
	}
	// Snapshots know how many values they have, so they do not look at this one.
	c.chunks[c.n>>chunkBits].Load()[c.n&(chunk-1)] = v
	c.n++
}

// Extend appends n zero values, which Set may set.
func (c *Column[T]) Extend(n int) {
	for end := c.n + n; c.n < end; {
		if c.n>>chunkBits == len(c.chunks) {
			c.grow(c.piece(), true)
		}
		c.n = min(end, len(c.chunks)<<chunkBits)
	}
}

// Set sets a value that was appended since the last snapshot. Several goroutines may set different ones.
func (c *Column[T]) Set(i uint32, v T) { c.chunks[i>>chunkBits].Load()[i&(chunk-1)] = v }

// piece returns a new piece.
func (c *Column[T]) piece() *[chunk]T {
	if b := c.spill.take(int(chunkBytes[T]())); b != nil {
		return (*[chunk]T)(unsafe.Pointer(unsafe.SliceData(b)))
	}
	return new([chunk]T)
}

// chunkBytes is the size of a piece. It is a multiple of that of a page of memory.
func chunkBytes[T any]() int64 { return int64(unsafe.Sizeof(*new([chunk]T))) }

// grow appends a chunk.
func (c *Column[T]) grow(p *[chunk]T, owned bool) {
	if len(c.chunks) == cap(c.chunks) {
		c.chunks = c.pointers(max(4, 2*len(c.chunks)))
	}
	c.chunks = c.chunks[:len(c.chunks)+1]
	c.chunks[len(c.chunks)-1].Store(p)
	c.owned = append(c.owned, owned)
}

// pointers returns a copy of the pointers to the chunks, with room for some.
func (c *Column[T]) pointers(room int) []atomic.Pointer[[chunk]T] {
	all := make([]atomic.Pointer[[chunk]T], len(c.chunks), room)
	for i := range c.chunks {
		all[i].Store(c.chunks[i].Load())
	}
	return all
}

// At returns a value, which must not be changed through the pointer. It is valid until the value is set.
func (c *Column[T]) At(i uint32) *T {
	p := c.chunks[i>>chunkBits].Load()
	if p == nil {
		p = c.load(int(i >> chunkBits))
	}
	return &p[i&(chunk-1)]
}

// load checks a chunk in the file. If it is damaged, the file gets the error, and the values are zero.
func (c *Column[T]) load(at int) *[chunk]T {
	from := at << chunkBits
	values := c.file.values[from:min(from+chunk, len(c.file.values))]
	p := new([chunk]T)
	switch err := c.file.check(from, values); {
	case err != nil:
		c.file.fail(err)
	case len(values) == chunk:
		p = (*[chunk]T)(values)
	default:
		copy(p[:], values)
	}
	if !c.chunks[at].CompareAndSwap(nil, p) { // somebody else was faster
		p = c.chunks[at].Load()
	}
	return p
}

// Change returns a value that the caller is going to change at once. Snapshots keep what it was.
func (c *Column[T]) Change(i uint32) *T {
	at := i >> chunkBits
	if !c.owned[at] {
		c.At(i)
		own := *c.chunks[at].Load()
		c.chunks[at].Store(&own)
		c.owned[at] = true
	}
	return &c.chunks[at].Load()[i&(chunk-1)]
}

// Snapshot returns the values as they are now, which nobody may change. It takes time for the pieces, not for the values.
func (c *Column[T]) Snapshot() Column[T] {
	s := Column[T]{chunks: c.pointers(len(c.chunks)), n: c.n, file: c.file, spill: c.spill}
	clear(c.owned)
	return s
}

// Chunk returns the values from slot i on that stand in one piece with it.
func (c *Column[T]) Chunk(i int) []T {
	c.At(uint32(i))
	return c.chunks[i>>chunkBits].Load()[i&(chunk-1) : min(chunk, c.n-i>>chunkBits<<chunkBits)]
}

// Of returns a column of values, which it keeps.
func Of[T any](values []T) (c Column[T]) {
	for from := 0; from < len(values); from += chunk {
		if len(values)-from >= chunk {
			c.grow((*[chunk]T)(values[from:]), true)
			continue
		}
		p := new([chunk]T)
		copy(p[:], values[from:])
		c.grow(p, true)
	}
	c.n = len(values)
	return c
}

// Mapped returns a column of values in a file that nobody changes. Before some of them are used, check is called with them and the
// slot of the first one; it may be called by several goroutines. If it returns an error, fail gets it, and the values are zero.
func Mapped[T any](values []T, check func(from int, values []T) error, fail func(err error)) (c Column[T]) {
	c.file = &mapped[T]{values, check, fail}
	for from := 0; from < len(values); from += chunk {
		c.grow(nil, false)
	}
	if c.n = len(values); c.n%chunk != 0 { // so that values can be appended
		c.load(len(c.chunks) - 1)
	}
	return c
}

// Chunks returns all values, piece by piece.
func (c *Column[T]) Chunks() (all [][]T) {
	for i := 0; i < c.n; i += chunk {
		all = append(all, c.Chunk(i))
	}
	return all
}

// SortByKey sorts a list by the upper halves of its entries, the keys, of which only so many of the upper bits are not 0: 24 or 32. It
// keeps the order of equal ones. It is a radix sort in two or three passes, and needs as much memory again: room, which may be nil. What it
// returns stands in list and in room, one or the other; the rest is room for the next call.
func SortByKey(list []uint64, bits int, room []uint64) (sorted, roomAfter []uint64) {
	width := 12
	if bits > 24 {
		width = 11
	}
	other := slices.Grow(room[:0], len(list))[:len(list)]
	for shift := 64 - bits; shift < 64; shift += width {
		var ends [1 << 12]int
		for _, e := range list {
			ends[e>>shift&(1<<width-1)]++
		}
		sum := 0
		for i, n := range ends {
			ends[i] = sum
			sum += n
		}
		for _, e := range list {
			at := &ends[e>>shift&(1<<width-1)]
			other[*at] = e
			*at++
		}
		list, other = other, list
	}
	return list, other
}

// A File is the bytes of columns in a file. Check is called with the bytes that are going to be used; it may be called by several
// goroutines. Fail gets the first error, also that of values which cannot be.
type File struct {
	Check func(b []byte) error
	Fail  func(err error)
}

// In returns a column of values in a file, whose bytes were written by [Bytes]. Before values are used, valid is called with them and
// the slot of the first one. In returns false if there are not n values.
func In[T any](f *File, b []byte, n int, valid func(from int, values []T) bool) (c Column[T], ok bool) {
	size := int(unsafe.Sizeof(*new(T)))
	if len(b) != n*size || uintptr(unsafe.Pointer(unsafe.SliceData(b)))%8 != 0 {
		return c, false
	}
	values := unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n)
	return Mapped(values, func(from int, values []T) error {
		if err := f.Check(Bytes(values)); err != nil {
			return err
		}
		if !valid(from, values) {
			return format.Damaged("numbers that are out of range")
		}
		return nil
	}, f.Fail), true
}

// Bytes returns values without pointers as they are in memory.
func Bytes[T any](values []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(values))), len(values)*int(unsafe.Sizeof(*new(T))))
}

// Parts returns the bytes of all values, piece by piece.
func (c *Column[T]) Parts() (all [][]byte) {
	for _, values := range c.Chunks() {
		all = append(all, Bytes(values))
	}
	return all
}
