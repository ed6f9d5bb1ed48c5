package input

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"

	"github.com/neardup/neardup/cmd/neardup/rows"
)

// This file reads and writes Parquet. Of each row only the columns that are needed are read.

// readParquet is read for a Parquet file. The line of an item is the number of its row, from 1. A list becomes a
// text with a line for each element. Several row groups are read at the same time; their items come in order.
func (s *Source) readParquet(r io.Reader, at func(int32) Item, cols Columns, yield func(Item) bool) (err error) {
	file, size, done, err := s.file(r)
	if err != nil {
		return err
	}
	defer done()
	start := int32(1)
	defer s.recovered(&start, &err) // the library trusts what it reads
	p, err := s.OpenParquet(file, size)
	if err != nil {
		return err
	}
	var names []string
	for _, path := range p.Schema().Columns() {
		names = append(names, columnName(path))
	}
	if s.Header, err = s.newHeader(names, cols); err != nil {
		return err
	}
	needed := append(append([]int{s.Header.id, s.Header.title}, s.Header.text...), s.Header.metadata...)
	if cols.All {
		needed = needed[:0]
		for i := range names {
			needed = append(needed, i)
		}
	}
	groups := p.RowGroups()
	if cols.Typed {
		s.Header.Parquet, s.Header.Compression, s.Header.reader = p.Schema(), compressionOf(p), rows.NewParquetReader(p.Schema())
		s.Header.Fields = s.Header.reader.Names()
		return s.readRows(groups, at, yield)
	}
	chunks := make([]chan parquetChunk, len(groups))
	quit := make(chan struct{})
	var wg sync.WaitGroup
	defer wg.Wait() // before the file is closed
	defer close(quit)
	line := int32(1)
	begin := func(g int) {
		first := line
		line += int32(groups[g].NumRows())
		chunks[g] = make(chan parquetChunk, 4)
		wg.Go(func() {
			defer close(chunks[g])
			emit := func(c parquetChunk) bool {
				select {
				case chunks[g] <- c:
					return true
				case <-quit:
					return false
				}
			}
			if err := s.readGroup(groups[g], names, needed, first, at, emit); err != nil {
				emit(parquetChunk{nil, err})
			}
		})
	}
	ahead := min(runtime.GOMAXPROCS(0), len(groups))
	for g := range ahead {
		begin(g)
	}
	for g := range groups {
		for c := range chunks[g] {
			if c.err != nil {
				return c.err
			}
			for _, it := range c.items {
				if !yield(it) {
					return nil
				}
			}
		}
		if g+ahead < len(groups) {
			begin(g + ahead)
		}
	}
	return nil
}

// readRows yields whole rows of all groups. Their values are made when they are asked for.
func (s *Source) readRows(groups []parquet.RowGroup, at func(int32) Item, yield func(Item) bool) (err error) {
	line := int32(0)
	defer s.recovered(&line, &err)
	buf := make([]parquet.Row, 64)
	for n, group := range groups {
		from := group.Rows()
		for {
			read, err := from.ReadRows(buf)
			for _, row := range buf[:read] {
				line++
				it := at(line)
				it.Parquet, it.Group = row.Clone(), int32(n+1)
				if !yield(it) {
					return from.Close()
				}
			}
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return fmt.Errorf("%s:%d: %w", s.Path, line, errors.Join(err, from.Close()))
			}
		}
		if err := from.Close(); err != nil {
			return err
		}
	}
	return nil
}

// A parquetChunk is some rows of a row group, or what is wrong with the next ones.
type parquetChunk struct {
	items []Item
	err   error
}

// readGroup passes the rows of a row group to emit, until that returns false. line is that of the first one.
func (s *Source) readGroup(group parquet.RowGroup, names []string, needed []int, line int32, at func(int32) Item, emit func(parquetChunk) bool) (err error) {
	first := line
	defer s.recovered(&first, &err)
	values := make([]*parquetColumn, len(names))
	columns := group.ColumnChunks()
	for _, i := range needed {
		if i >= 0 && values[i] == nil {
			values[i] = &parquetColumn{pages: columns[i].Pages(), of: columns[i].Type()}
			defer values[i].pages.Close()
		}
	}
	var items []Item
	for range group.NumRows() {
		it := at(line)
		it.Row = make([]string, len(names))
		for i, c := range values {
			if c == nil {
				continue
			}
			if it.Row[i], err = c.next(); err != nil {
				return fmt.Errorf("%s:%d: column %q: %w", s.Path, line, names[i], err)
			}
		}
		line++
		if items = append(items, it); len(items) == 256 {
			if !emit(parquetChunk{items, nil}) {
				return nil
			}
			items = nil
		}
	}
	emit(parquetChunk{items, nil})
	return nil
}

// recovered turns a panic into an error. line is where the work began, or where it is.
func (s *Source) recovered(line *int32, err *error) {
	if wrong := recover(); wrong != nil {
		*err = fmt.Errorf("%s:%d: the file is damaged here or later: %v", s.Path, *line, wrong)
	}
}

// OpenParquet opens a file.
func (s *Source) OpenParquet(file *os.File, size int64) (*parquet.File, error) {
	p, err := parquet.OpenFile(file, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, fmt.Errorf("%s:1: %w", s.Path, err)
	}
	return p, nil
}

// columnName returns the name of a column by its path. The elements of a list have the name of the list.
func columnName(path []string) string {
	name := strings.Join(path, ".")
	for _, end := range []string{".list.element", ".list.item", ".bag.array_element", ".array"} {
		name = strings.TrimSuffix(name, end)
	}
	return name
}

// A parquetColumn reads the values of a column in a row group, row by row.
type parquetColumn struct {
	pages  parquet.Pages
	of     parquet.Type
	values parquet.ValueReader
	buf    [64]parquet.Value
	ready  []parquet.Value // of buf
	isLast bool            // there are no more values behind ready
}

// next returns the text of the next row.
func (c *parquetColumn) next() (text string, err error) {
	for n := 0; ; n++ {
		if len(c.ready) == 0 {
			if err := c.fill(); err != nil {
				return "", err
			}
		}
		if n > 0 && (len(c.ready) == 0 || c.ready[0].RepetitionLevel() == 0) {
			return text, nil
		}
		if len(c.ready) == 0 {
			return "", io.ErrUnexpectedEOF
		}
		v := c.ready[0]
		c.ready = c.ready[1:]
		if v.IsNull() {
			continue
		}
		if n > 0 {
			text += "\n"
		}
		text += rows.LeafText(c.of, v)
	}
}

// fill reads more values, if there are any.
func (c *parquetColumn) fill() error {
	for !c.isLast {
		if c.values == nil {
			page, err := c.pages.ReadPage()
			if errors.Is(err, io.EOF) {
				c.isLast = true
				return nil
			}
			if err != nil {
				return err
			}
			c.values = page.Values()
		}
		n, err := c.values.ReadValues(c.buf[:])
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if errors.Is(err, io.EOF) {
			c.values = nil
		}
		if n > 0 {
			c.ready = c.buf[:n]
			return nil
		}
	}
	return nil
}

// compressionOf returns the compression of the first column of a file.
func compressionOf(p *parquet.File) compress.Codec {
	for _, g := range p.Metadata().RowGroups {
		for _, column := range g.Columns {
			return parquet.LookupCompressionCodec(column.MetaData.Codec)
		}
	}
	return &parquet.Snappy
}
