package store

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"unsafe"

	"github.com/neardup/neardup/internal/format"
)

// This file maps a snapshot into memory and checks it block by block. So opening a file does not
// read its columns, and a search checks only the blocks that it needs, each once.

// A Mapping is a file in memory. Its blocks are checked when they are first used; whoever uses a
// part must call Check first. The file is unmapped when the mapping is no longer reachable, so
// whoever uses a part must also keep the mapping alive.
type Mapping struct {
	path  string
	data  []byte          // the whole file
	real  bool            // the file is mapped; false: it was read into memory
	first int             // where the blocks begin
	sums  []uint64        // the checksum of each block, seeded with the block's number
	good  []atomic.Uint64 // a bit for each block that has been checked
}

// fileBlock is the number of bytes of a block. A smaller block costs a longer list of checksums, a
// larger one a longer first search.
const fileBlock = 1 << 16

// HostIsLittle says whether numbers in memory have the byte order of the files.
var HostIsLittle = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// openMapping maps a file. If the file cannot be mapped, or the machine has another byte order than
// the files, openMapping reads it into memory.
func openMapping(path string) (*Mapping, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	m := &Mapping{path: path}
	if HostIsLittle && info.Size() > 0 && info.Size() == int64(int(info.Size())) {
		if m.data = mapFile(f, int(info.Size())); m.data != nil {
			m.real = true
			runtime.AddCleanup(m, unmap, m.data)
			return m, nil
		}
	}
	// Allocate words, so that the bytes are aligned for numbers of 64 bits.
	words := make([]uint64, (info.Size()+7)/8)
	m.data = unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), info.Size())
	_, err = io.ReadFull(f, m.data)
	return m, err
}

// Check checks the blocks that hold the n bytes from p on, unless they have been checked before. It
// returns an error if they are damaged. A nil mapping means that no check is needed.
func (m *Mapping) Check(p unsafe.Pointer, n int) error {
	if m == nil || n == 0 {
		return nil
	}
	from := int(uintptr(p)-uintptr(unsafe.Pointer(unsafe.SliceData(m.data)))) - m.first
	for b := from / fileBlock; b <= (from+n-1)/fileBlock; b++ {
		if m.good[b/64].Load()>>(b%64)&1 == 0 {
			if err := m.checkBlock(b); err != nil {
				return err
			}
			m.good[b/64].Or(1 << (b % 64))
		}
	}
	return nil
}

// CheckBytes is Check for a part of the mapping.
func (m *Mapping) CheckBytes(b []byte) error {
	return m.Check(unsafe.Pointer(unsafe.SliceData(b)), len(b))
}

// checkBlock checks a block. The error of a damaged one names its bytes in the file.
func (m *Mapping) checkBlock(b int) error {
	from := m.first + b*fileBlock
	block := m.data[from:min(from+fileBlock, len(m.data))]
	if format.Checksum(block, uint64(b)) != m.sums[b] {
		path := strings.Clone(m.path) // a copy, so that the variables of searches stay on the stack
		return fmt.Errorf("%s: %w: bytes %d to %d: the checksum does not match", path, format.ErrDamaged, from, from+len(block)-1)
	}
	return nil
}

// Verify checks all blocks, also those that have been checked before.
func (m *Mapping) Verify() error {
	for b := range m.sums {
		if err := m.checkBlock(b); err != nil {
			return err
		}
	}
	return nil
}

// A number is what columns of files are made of.
type number interface{ ~uint32 | ~uint64 }

// Numbers returns a part of a mapping as numbers. On a big-endian machine it reverses the bytes in
// place, so it must be called once for each part.
func Numbers[T number](b []byte) []T {
	size := int(unsafe.Sizeof(T(0)))
	x := unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/size)
	if !HostIsLittle {
		turn(b, size)
	}
	return x
}

// AsBytes is the inverse of Numbers. The result may share memory with x, and must not be changed.
func AsBytes[T number](x []T) []byte {
	size := int(unsafe.Sizeof(T(0)))
	b := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), len(x)*size)
	if !HostIsLittle {
		b = append([]byte(nil), b...)
		turn(b, size)
	}
	return b
}

// turn reverses the bytes of each number.
func turn(b []byte, size int) {
	for i := 0; i+size <= len(b); i += size {
		for j := range size / 2 {
			b[i+j], b[i+size-1-j] = b[i+size-1-j], b[i+j]
		}
	}
}
