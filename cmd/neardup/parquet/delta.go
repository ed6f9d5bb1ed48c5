package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// This file decodes two encodings for types for which arrow-go v18.8.0 has no decoder: DELTA_BYTE_ARRAY of FIXED_LEN_BYTE_ARRAY, which is what
// parquet-rs writes in data pages of version 2; and DELTA_BINARY_PACKED of INT32 with deltas of more than 32 bits, which DuckDB writes of unsigned
// integers. Such a page becomes one with the encoding PLAIN. The formats are those of Encodings.md of Parquet.

var errShort = errors.New("a page ends too early")

// A deltaReader reads integers of the encoding DELTA_BINARY_PACKED.
type deltaReader struct {
	data             []byte
	perBlock, perRow int // how many values a block has, and a miniblock
	left             int // how many values follow
	next             int64
}

// newDeltaReader reads the header.
func newDeltaReader(data []byte) (*deltaReader, error) {
	r := &deltaReader{data: data}
	block, err := r.uvarint()
	if err != nil {
		return nil, err
	}
	rows, err := r.uvarint()
	if err != nil {
		return nil, err
	}
	total, err := r.uvarint()
	if err != nil {
		return nil, err
	}
	if r.next, err = r.varint(); err != nil {
		return nil, err
	}
	if block == 0 || rows == 0 || block > 1<<20 || block%rows != 0 || (block/rows)%8 != 0 || total > 1<<31 {
		return nil, fmt.Errorf("a page has blocks of %d values in %d parts", block, rows)
	}
	r.perBlock, r.perRow, r.left = int(block), int(block/rows), int(total)
	return r, nil
}

func (r *deltaReader) uvarint() (uint64, error) {
	x, n := binary.Uvarint(r.data)
	if n <= 0 {
		return 0, errShort
	}
	r.data = r.data[n:]
	return x, nil
}

func (r *deltaReader) varint() (int64, error) {
	x, n := binary.Varint(r.data) // zigzag, as Parquet has it
	if n <= 0 {
		return 0, errShort
	}
	r.data = r.data[n:]
	return x, nil
}

// all calls use with each value. Behind the last one r.data is what follows.
func (r *deltaReader) all(use func(int64)) error {
	if r.left == 0 {
		return nil
	}
	use(r.next)
	r.left--
	for r.left > 0 {
		least, err := r.varint()
		if err != nil {
			return err
		}
		parts := r.perBlock / r.perRow
		if len(r.data) < parts {
			return errShort
		}
		widths := r.data[:parts]
		r.data = r.data[parts:]
		for _, width := range widths {
			if r.left == 0 {
				break // what follows is not written
			}
			if err := r.part(least, int(width), use); err != nil {
				return err
			}
		}
	}
	return nil
}

// part reads a miniblock.
func (r *deltaReader) part(least int64, width int, use func(int64)) error {
	size := r.perRow / 8 * width
	if width > 64 || len(r.data) < size {
		return errShort
	}
	packed := r.data[:size]
	r.data = r.data[size:]
	for i := 0; i < r.perRow && r.left > 0; i++ {
		r.next += least + int64(unpack(packed, i*width, width))
		use(r.next)
		r.left--
	}
	return nil
}

// unpack returns the bits from one on, the lowest first.
func unpack(packed []byte, from, width int) (x uint64) {
	for got := 0; got < width; {
		at := from + got
		n := min(8-at%8, width-got)
		x |= uint64(packed[at/8]>>(at%8)&(1<<n-1)) << got
		got += n
	}
	return x
}

// appendDeltaInts appends at most n integers of 32 bits. Their differences may need more, and wrap around.
func appendDeltaInts(to, data []byte, n int) ([]byte, error) {
	r, err := newDeltaReader(data)
	if err != nil {
		return nil, err
	}
	if r.left > n {
		return nil, errors.New("a page has more values than its header says")
	}
	return to, r.all(func(x int64) { to = binary.LittleEndian.AppendUint32(to, uint32(x)) })
}

// appendDeltaBytes appends at most n values of a width, each of which is a prefix of the one before and what follows it.
func appendDeltaBytes(to, data []byte, width, n int) ([]byte, error) {
	prefixes, data, err := lengths(data, n)
	if err != nil {
		return nil, err
	}
	suffixes, data, err := lengths(data, n)
	if err != nil {
		return nil, err
	}
	if len(prefixes) != len(suffixes) {
		return nil, errors.New("a page has different numbers of prefixes and suffixes")
	}
	last := make([]byte, width)
	for i, prefix := range prefixes {
		suffix := suffixes[i]
		if prefix < 0 || suffix < 0 || prefix+suffix != int64(width) || suffix > int64(len(data)) {
			return nil, errShort
		}
		copy(last[prefix:], data[:suffix])
		data = data[suffix:]
		to = append(to, last...)
	}
	return to, nil
}

// lengths returns at most n integers, and what stands behind them.
func lengths(data []byte, n int) (all []int64, rest []byte, err error) {
	r, err := newDeltaReader(data)
	if err != nil {
		return nil, nil, err
	}
	if r.left > n {
		return nil, nil, errors.New("a page has more values than its header says")
	}
	err = r.all(func(x int64) { all = append(all, x) })
	return all, r.data, err
}
