package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"
)

// This file decodes two encodings for types for which arrow-go v18.8.0 has no decoder: DELTA_BYTE_ARRAY of FIXED_LEN_BYTE_ARRAY, which is what
// parquet-rs writes in data pages of version 2; and DELTA_BINARY_PACKED of INT32 with deltas of more than 32 bits, which DuckDB writes of unsigned
// integers. Such a page becomes one with the encoding PLAIN. The formats are those of Encodings.md of Parquet.

// needsPlain reports whether pages of a column may have such encodings.
func needsPlain(of *schema.Column) bool {
	return of.PhysicalType() == parquet.Types.FixedLenByteArray || of.PhysicalType() == parquet.Types.Int32
}

// plainPages are the pages of a column, of which those with such encodings are decoded.
type plainPages struct {
	file.PageReader
	of   *schema.Column
	mem  *allocator
	page file.Page
	took int // bytes of the page
	err  error
}

func (p *plainPages) Page() file.Page { return p.page }

func (p *plainPages) Err() error {
	if p.err != nil {
		return p.err
	}
	return p.PageReader.Err()
}

func (p *plainPages) Next() bool {
	p.mem.live.Add(int64(-p.took))
	p.took = 0
	if p.err != nil || !p.PageReader.Next() {
		p.page = nil
		return false
	}
	if p.page, p.err = p.plain(p.PageReader.Page()); p.err != nil {
		p.page = nil
		return false
	}
	return true
}

func (p *plainPages) Close() error {
	p.mem.live.Add(int64(-p.took))
	p.took = 0
	return p.PageReader.Close()
}

// plain returns a page with the encoding PLAIN, if it has one that is decoded here, or as it is.
func (p *plainPages) plain(page file.Page) (file.Page, error) {
	encoding := parquet.Encoding(page.Encoding())
	isBytes := p.of.PhysicalType() == parquet.Types.FixedLenByteArray && encoding == parquet.Encodings.DeltaByteArray
	if !isBytes && (p.of.PhysicalType() != parquet.Types.Int32 || encoding != parquet.Encodings.DeltaBinaryPacked) || page.Type() == file.PageTypeDictionaryPage {
		return page, nil
	}
	levels, err := p.levels(page)
	if err != nil {
		return nil, err
	}
	data := page.Data()
	width := p.of.TypeLength()
	if !isBytes {
		width = 4
	}
	size := int64(levels) + int64(page.NumValues())*int64(width)
	if p.mem.take(int(size)); size > 1<<31 {
		return nil, errors.New("a page is too large")
	}
	p.took = int(size)
	plain := append(make([]byte, 0, size), data[:levels]...)
	if isBytes {
		plain, err = appendDeltaBytes(plain, data[levels:], width, int(page.NumValues()))
	} else {
		plain, err = appendDeltaInts(plain, data[levels:], int(page.NumValues()))
	}
	if err != nil {
		return nil, err
	}
	buf := memory.NewBufferBytes(plain)
	switch page := page.(type) {
	case *file.DataPageV1:
		return file.NewDataPageV1(buf, page.NumValues(), parquet.Encodings.Plain, page.DefinitionLevelEncoding(), page.RepetitionLevelEncoding(), int32(len(plain))), nil
	case *file.DataPageV2:
		return file.NewDataPageV2(buf, page.NumValues(), page.NumNulls(), page.NumRows(), parquet.Encodings.Plain, page.DefinitionLevelByteLen(), page.RepetitionLevelByteLen(), int32(len(plain)), false), nil
	}
	return nil, errors.New("a page is of an unknown kind")
}

// levels returns how many bytes of a page are its levels.
func (p *plainPages) levels(page file.Page) (n int, err error) {
	data := page.Data()
	switch page := page.(type) {
	case *file.DataPageV2:
		n = int(page.DefinitionLevelByteLen()) + int(page.RepetitionLevelByteLen())
	case *file.DataPageV1:
		for _, l := range []struct {
			most     int16
			encoding parquet.Encoding
		}{{p.of.MaxRepetitionLevel(), page.RepetitionLevelEncoding()}, {p.of.MaxDefinitionLevel(), page.DefinitionLevelEncoding()}} {
			switch {
			case l.most == 0:
			case l.encoding != parquet.Encodings.RLE:
				n += (int(page.NumValues())*bits.Len16(uint16(l.most)) + 7) / 8
			case n+4 > len(data):
				return 0, errShort
			default:
				n += 4 + int(binary.LittleEndian.Uint32(data[n:]))
			}
			if n < 0 || n > len(data) {
				return 0, errShort
			}
		}
	}
	if n > len(data) {
		return 0, errShort
	}
	return n, nil
}

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
		return nil, errors.New("a page has other numbers of prefixes than of suffixes")
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
