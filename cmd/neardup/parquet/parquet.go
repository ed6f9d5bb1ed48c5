// Package parquet reads and writes Parquet row by row, over the pages and encodings of arrow-go. It adds what a tool needs
// that must not lose a text:
//
//	parquet.go  opens a file, checks its footer, and bounds what reading it may allocate
//	group.go    reads the rows of a row group
//	check.go    compares what was read with what the footer says, so that a fault below cannot pass in silence
//	codecs.go   compression: LZ4 as Hadoop frames it, and pages whose size does not match
//	pages.go    bounds dictionaries, and makes plain pages of encodings that arrow-go lacks for their type
//	delta.go    decodes those encodings
//	write.go    writes rows
//
// A row is a list of cells for each leaf of the schema. A cell has the two levels of Dremel (Melnik et al. 2010), which say
// in which list it stands and up to where its path is not null. Package rows makes values of them.
package parquet

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/apache/arrow-go/v18/parquet/schema"
)

// A File is an open Parquet file. Its row groups may be read side by side.
type File struct {
	from *file.Reader
	mem  *allocator
}

// Open reads the footer of a file. Pages and dictionaries of the columns that are read at one time take at most room bytes
// together, or reading ends with an error that wraps [ErrMemory].
func Open(r io.ReaderAt, size, room int64) (f *File, err error) {
	defer recovered("the footer", &err)
	registerCodecs()
	f = &File{mem: &allocator{room: room}}
	props := parquet.NewReaderProperties(f.mem)
	props.BufferedStreamEnabled, props.BufferSize = true, 1<<18
	props.MaxCompressedPageSize, props.MaxUncompressedPageSize = room, room
	if f.from, err = file.NewParquetReader(io.NewSectionReader(r, 0, size), file.WithReadProps(props)); err != nil {
		return nil, err
	}
	return f, f.checkFooter(size)
}

// Schema returns the schema.
func (f *File) Schema() *schema.Schema { return f.from.MetaData().Schema }

// Columns returns the numbers of all columns.
func (f *File) Columns() (all []int) {
	for i := range f.Schema().NumColumns() {
		all = append(all, i)
	}
	return all
}

// Groups returns the number of row groups.
func (f *File) Groups() int { return f.from.NumRowGroups() }

// Rows returns the number of rows in a group.
func (f *File) Rows(group int) int64 { return f.meta(group).NumRows() }

func (f *File) meta(group int) *metadata.RowGroupMetaData { return f.from.MetaData().RowGroup(group) }

// Bytes returns the size of some columns of a group without compression, as the footer gives it.
func (f *File) Bytes(group int, columns []int) (n int64) {
	for _, c := range columns {
		if chunk, err := f.meta(group).ColumnChunk(c); err == nil {
			n += chunk.TotalUncompressedSize()
		}
	}
	return n
}

// Compression returns the codec of the first column, which other programs can read: LZ4 as Hadoop frames it becomes LZ4_RAW.
func (f *File) Compression() compress.Compression {
	for g := range f.Groups() {
		if chunk, err := f.meta(g).ColumnChunk(0); err == nil {
			if codec := chunk.Compression(); codec != compress.Codecs.Lz4 {
				return codec
			}
			return compress.Codecs.Lz4Raw
		}
	}
	return compress.Codecs.Snappy
}

// checkFooter checks what the library believes: numbers of rows and columns, and that the columns lie within the file.
func (f *File) checkFooter(size int64) error {
	rows, columns := int64(0), f.Schema().NumColumns()
	for g := range f.Groups() {
		meta := f.meta(g)
		if meta.NumColumns() != columns {
			return fmt.Errorf("row group %d has %d columns instead of %d", g+1, meta.NumColumns(), columns)
		}
		if meta.NumRows() < 0 {
			return fmt.Errorf("row group %d has %d rows", g+1, meta.NumRows())
		}
		rows += meta.NumRows()
		for c := range columns {
			chunk, err := meta.ColumnChunk(c)
			if err != nil {
				return fmt.Errorf("row group %d, column %q: %w", g+1, f.Schema().Column(c).Path(), err)
			}
			if err := checkChunk(chunk, f.Schema().Column(c), size); err != nil {
				return fmt.Errorf("row group %d, column %q: %w", g+1, f.Schema().Column(c).Path(), err)
			}
		}
	}
	if said := f.from.NumRows(); said > rows { // some writers leave it at 0
		return fmt.Errorf("the footer says %d rows, but the row groups have %d", said, rows)
	}
	return nil
}

func checkChunk(chunk *metadata.ColumnChunkMetaData, column *schema.Column, size int64) error {
	start := chunk.DataPageOffset()
	if chunk.HasDictionaryPage() && chunk.DictionaryPageOffset() > 0 {
		start = min(start, chunk.DictionaryPageOffset())
	}
	switch {
	case chunk.FilePath() != "":
		return fmt.Errorf("its data is in another file, %q", chunk.FilePath())
	case chunk.Type() != column.PhysicalType():
		return fmt.Errorf("its pages have the type %s, but the schema has %s", chunk.Type(), column.PhysicalType())
	case start < 0 || chunk.TotalCompressedSize() < 0 || start > size || chunk.TotalCompressedSize() > size-start:
		return fmt.Errorf("its pages (%d bytes at %d) are outside of the file", chunk.TotalCompressedSize(), start)
	case chunk.NumValues() < 0:
		return fmt.Errorf("it has %d values", chunk.NumValues())
	}
	return nil
}

// ErrMemory is the error of a file whose pages need more memory than there is room.
var ErrMemory = errors.New("needs more than a quarter of --memory")

// An allocator counts what pages take, and refuses what is beyond the room, since the sizes in a file may be anything.
type allocator struct {
	memory.GoAllocator
	room int64
	live atomic.Int64
}

func (a *allocator) take(what string, n int) {
	if live := a.live.Add(int64(n)); live > a.room {
		a.live.Add(int64(-n))
		panic(fmt.Errorf("%s of %d bytes %w", what, n, ErrMemory)) // which recovered returns
	}
}

func (a *allocator) Allocate(n int) []byte {
	a.take("a page", n)
	return a.GoAllocator.Allocate(n)
}

func (a *allocator) Reallocate(n int, b []byte) []byte {
	a.take("a page", n)
	b2 := a.GoAllocator.Reallocate(n, b)
	a.live.Add(int64(-len(b)))
	return b2
}

func (a *allocator) Free(b []byte) { a.live.Add(int64(-len(b))) }

// A share is what a column takes of an allocator. It gives all of it back at its end, since decoders of the library do not.
type share struct {
	*allocator
	took int
}

func (s *share) take(what string, n int) {
	s.allocator.take(what, n)
	s.took += n
}

func (s *share) give(n int) {
	s.live.Add(int64(-n))
	s.took -= n
}

func (s *share) Allocate(n int) []byte {
	b := s.allocator.Allocate(n)
	s.took += n
	return b
}

func (s *share) Reallocate(n int, b []byte) []byte {
	b2 := s.allocator.Reallocate(n, b)
	s.took += n - len(b)
	return b2
}

func (s *share) Free(b []byte) { s.give(len(b)) }

// recovered returns a panic of the library as an error.
func recovered(what string, err *error) {
	switch wrong := recover().(type) {
	case nil:
	case runtime.Error: // whose text helps nobody
		*err = fmt.Errorf("%s is damaged", what)
	case error:
		if errors.Is(wrong, ErrMemory) {
			*err = wrong
			return
		}
		*err = fmt.Errorf("%s is damaged, or of an unknown kind: %w", what, wrong)
	default:
		*err = fmt.Errorf("%s is damaged, or of an unknown kind: %v", what, wrong)
	}
}
