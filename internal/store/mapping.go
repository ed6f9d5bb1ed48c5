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

// A Mapping is a file in memory, in which blocks are checked when they are first
// touched. Whoever uses a part of it must keep the mapping alive: when it is no longer
// reachable the file is unmapped.
type Mapping struct {
	path  string
	data  []byte   // the whole file
	real  bool     // mapped, and not read
	first int      // where the blocks begin
	sums  []uint64 // of each block, seeded with its number
	good  []atomic.Uint64
}

const fileBlock = 1 << 16

// HostIsLittle says whether numbers in files are as they are in memory.
var HostIsLittle = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// openMapping maps a file, or reads it where it cannot be mapped.
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
		return nil, fmt.Errorf("%s is no ordinary file", path)
	}
	m := &Mapping{path: path}
	if HostIsLittle && info.Size() > 0 && info.Size() == int64(int(info.Size())) {
		if m.data = mapFile(f, int(info.Size())); m.data != nil {
			m.real = true
			runtime.AddCleanup(m, unmap, m.data)
			return m, nil
		}
	}
	// In words, so that it is aligned.
	words := make([]uint64, (info.Size()+7)/8)
	m.data = unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), info.Size())
	_, err = io.ReadFull(f, m.data)
	return m, err
}

// Check reports damage of the blocks that have n bytes from p on. What is no mapping needs
// no check.
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

func (m *Mapping) checkBlock(b int) error {
	from := m.first + b*fileBlock
	block := m.data[from:min(from+fileBlock, len(m.data))]
	if format.Checksum(block, uint64(b)) != m.sums[b] {
		path := strings.Clone(m.path) // so that searches, which may come here, stay on the stack
		return fmt.Errorf("%s: %w: bytes %d to %d: the checksum does not fit", path, format.ErrDamaged, from, from+len(block)-1)
	}
	return nil
}

// Verify checks all blocks.
func (m *Mapping) Verify() error {
	for b := range m.sums {
		if err := m.checkBlock(b); err != nil {
			return err
		}
	}
	return nil
}

// number is what columns of files are made of.
type number interface{ ~uint32 | ~uint64 }

// Numbers returns a part of a mapping as numbers. On a big-endian machine it turns
// them, once and for all.
func Numbers[T number](b []byte) []T {
	size := int(unsafe.Sizeof(T(0)))
	x := unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/size)
	if !HostIsLittle {
		turn(b, size)
	}
	return x
}

// AsBytes is the inverse of numbers. The result may share memory with x.
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
