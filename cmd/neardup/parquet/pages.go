package parquet

import (
	"encoding/binary"
	"errors"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"
)

// pages are the pages of a column. What the library will make of a dictionary is counted, and pages with an encoding that it lacks become plain.
type pages struct {
	file.PageReader
	of   *schema.Column
	mem  *share
	page file.Page
	size int // bytes of the page, if it became plain
	err  error
}

func (p *pages) Page() file.Page { return p.page }

func (p *pages) Err() error {
	if p.err != nil {
		return p.err
	}
	return p.PageReader.Err()
}

func (p *pages) Next() bool {
	p.mem.give(p.size)
	p.size, p.page = 0, nil
	if p.err != nil || !p.PageReader.Next() {
		return false
	}
	p.page = p.PageReader.Page()
	if p.page.Type() == file.PageTypeDictionaryPage {
		const perValue = 24 // an empty text takes 4 bytes in a page, and those of a slice in memory
		p.mem.take("a dictionary", perValue*int(p.page.NumValues()))
	} else if p.isLacking(p.page) {
		if p.page, p.err = p.plain(p.page); p.err != nil {
			p.page = nil
			return false
		}
	}
	return true
}

// isLacking reports whether a page has an encoding for which the library has no decoder (see delta.go).
func (p *pages) isLacking(page file.Page) bool {
	switch parquet.Encoding(page.Encoding()) {
	case parquet.Encodings.DeltaByteArray:
		return p.of.PhysicalType() == parquet.Types.FixedLenByteArray
	case parquet.Encodings.DeltaBinaryPacked:
		return p.of.PhysicalType() == parquet.Types.Int32
	}
	return false
}

// plain returns a page as one with the encoding PLAIN.
func (p *pages) plain(page file.Page) (file.Page, error) {
	isBytes := p.of.PhysicalType() == parquet.Types.FixedLenByteArray
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
	if size > 1<<31 {
		return nil, errors.New("a page is too large")
	}
	p.mem.take("a page", int(size))
	p.size = int(size)
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
func (p *pages) levels(page file.Page) (n int, err error) {
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
