package parquet

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"
	"unsafe"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"
)

// This file reads the rows of a row group: some columns side by side, each page by page.

// A Cell is a value of a column, or null.
type Cell struct {
	Bytes    []byte // of BYTE_ARRAY, FIXED_LEN_BYTE_ARRAY and INT96
	Bits     uint64 // of the others: an integer with its sign extended, the bits of a DOUBLE or FLOAT, or a BOOLEAN as 0 or 1
	Rep, Def int16  // a cell is null if Def is less than the MaxDefinitionLevel of the column
}

// A Group reads the rows of a row group, for one goroutine.
type Group struct {
	columns []*chunk // nil for those that are not read
	rows    int64    // that are left
}

// Group begins to read some columns of a row group. The caller calls Close.
func (f *File) Group(n int, columns []int) (g *Group, err error) {
	g = &Group{columns: make([]*chunk, f.Schema().NumColumns()), rows: f.Rows(n)}
	defer func() {
		if err != nil {
			g.Close()
			g = nil
		}
	}()
	defer recovered(fmt.Sprintf("row group %d", n+1), &err)
	for _, c := range columns {
		if g.columns[c] == nil {
			if g.columns[c], err = f.chunk(n, c); err != nil {
				return g, fmt.Errorf("row group %d, column %q: %w", n+1, f.Schema().Column(c).Path(), err)
			}
		}
	}
	return g, nil
}

// Next reads the next row. The error is io.EOF behind the last one.
func (g *Group) Next() error {
	if g.rows == 0 {
		for _, c := range g.columns {
			if c != nil {
				if err := c.end(); err != nil {
					return c.wrong(err)
				}
			}
		}
		return io.EOF
	}
	g.rows--
	for _, c := range g.columns {
		if c != nil {
			if err := c.next(); err != nil {
				return c.wrong(err)
			}
		}
	}
	return nil
}

// Cells returns the cells of a column in the row that was read last: one, or of a column in lists one for each element. They
// are valid until the next call of Next.
func (g *Group) Cells(column int) []Cell { return g.columns[column].row }

// Row returns a copy of all cells of the row that was read last, by column.
func (g *Group) Row() [][]Cell {
	cells, size := 0, 0
	for _, c := range g.columns {
		cells += len(c.row)
		for i := range c.row {
			size += len(c.row[i].Bytes)
		}
	}
	row, all, text := make([][]Cell, len(g.columns)), make([]Cell, 0, cells), make([]byte, 0, size)
	for i, c := range g.columns {
		from := len(all)
		all = append(all, c.row...)
		row[i] = all[from:len(all):len(all)]
		for k := range row[i] {
			if b := row[i][k].Bytes; b != nil {
				at := len(text)
				text = append(text, b...)
				row[i][k].Bytes = text[at:len(text):len(text)]
			}
		}
	}
	return row
}

// Close gives back what the group has allocated.
func (g *Group) Close() {
	for _, c := range g.columns {
		if c != nil {
			c.from.Close()
			c.mem.give(c.mem.took)
		}
	}
}

// batch is how many cells are decoded at once, and fewAtOnce of an encoding in which they may take much more than in their page.
const (
	batch     = 256
	fewAtOnce = 16
)

// A chunk is a column of a row group.
type chunk struct {
	from   file.ColumnChunkReader
	read   func(c *chunk) (levels int64, values int, err error)
	of     *schema.Column
	group  int
	left   int64 // how many cells were not decoded yet, by the footer
	atOnce int64 // how many are decoded at once
	check  check

	defs, reps [batch]int16
	cells      []Cell // decoded, the next ones first
	buf        [batch]Cell

	row  []Cell
	own  int // how many cells of row have bytes of their own
	size int // bytes that these take
	mem  *share
}

func (f *File) chunk(n, column int) (*chunk, error) {
	group, of := f.from.RowGroup(n), f.Schema().Column(column)
	meta, err := f.meta(n).ColumnChunk(column)
	if err != nil {
		return nil, err
	}
	c := &chunk{of: of, group: n, left: meta.NumValues(), atOnce: batch, check: f.newCheck(meta, n, column), mem: &share{allocator: f.mem}}
	if slices.Contains(meta.Encodings(), parquet.Encodings.DeltaByteArray) {
		c.atOnce = fewAtOnce
	}
	from, err := group.GetColumnPageReader(column)
	if err != nil {
		return nil, err
	}
	pages := &pages{PageReader: from, of: of, mem: c.mem}
	// The function is deprecated since it is easy to misuse. It gets here what the library gives it.
	//lint:ignore SA1019 it is the way to see pages before they are decoded
	if c.from = file.NewColumnReader(of, pages, c.mem, f.from.BufferPool()); c.from == nil {
		pages.Close()
		return nil, fmt.Errorf("its type, %s, is unknown", of.PhysicalType())
	}
	c.read = readerOf(c.from)
	return c, nil
}

// wrong says where an error is.
func (c *chunk) wrong(err error) error {
	return fmt.Errorf("row group %d, column %q: %w", c.group+1, c.of.Path(), err)
}

// next reads the cells of the next row.
func (c *chunk) next() error {
	c.mem.give(c.size)
	c.row, c.own, c.size = c.row[:0], 0, 0
	for {
		if len(c.cells) == 0 {
			if c.left == 0 && len(c.row) > 0 {
				return nil
			}
			if err := c.fill(); err != nil {
				return err
			}
		}
		if len(c.row) == 0 && c.cells[0].Rep != 0 {
			return fmt.Errorf("a row begins within a list")
		}
		n := 0
		for n < len(c.cells) && (c.cells[n].Rep > 0 || n == 0 && len(c.row) == 0) {
			n++
		}
		c.row, c.cells = append(c.row, c.cells[:n]...), c.cells[n:]
		if len(c.cells) > 0 || c.of.MaxRepetitionLevel() == 0 {
			return nil
		}
	}
}

// keep copies what a row has so far of a page that goes. A row with a long list is in many.
func (c *chunk) keep() {
	if c.own == len(c.row) {
		return
	}
	size := 0
	for _, cell := range c.row[c.own:] {
		size += int(unsafe.Sizeof(cell)) + len(cell.Bytes)
	}
	c.mem.take("a row", size)
	c.size += size
	for ; c.own < len(c.row); c.own++ {
		c.row[c.own].Bytes = bytes.Clone(c.row[c.own].Bytes)
	}
}

// emptyPages is how many pages without values may follow each other.
const emptyPages = 1000

// fill decodes more cells.
func (c *chunk) fill() (err error) {
	defer recovered("a page", &err)
	c.keep()
	if c.left == 0 {
		return fmt.Errorf("it has fewer rows than the row group: %w", io.ErrUnexpectedEOF)
	}
	for n := 0; !c.from.HasNext(); n++ { // which an empty page ends, too
		if err := c.from.Err(); err != nil {
			return err
		}
		if n == emptyPages {
			return fmt.Errorf("%d of its values are missing: %w", c.left, io.ErrUnexpectedEOF)
		}
	}
	levels, values, err := c.read(c)
	if err != nil {
		return err
	}
	if c.left -= levels; levels == 0 || c.left < 0 {
		return fmt.Errorf("the number of values in its pages differs from that in the footer")
	}
	c.cells = c.buf[:levels]
	return c.spread(values)
}

// spread moves the values, which stand one after the other, to their cells, from behind; nulls have none.
func (c *chunk) spread(at int) error {
	most := c.of.MaxDefinitionLevel()
	for i := len(c.cells) - 1; i >= 0; i-- {
		cell := &c.cells[i]
		def, rep := most, int16(0)
		if most > 0 {
			def = c.defs[i]
		}
		if c.of.MaxRepetitionLevel() > 0 {
			rep = c.reps[i]
		}
		if def < 0 || def > most || rep < 0 || rep > c.of.MaxRepetitionLevel() {
			return fmt.Errorf("a level is out of range")
		}
		if def < most {
			*cell = Cell{Rep: rep, Def: def}
			c.check.nulls++
			continue
		}
		if at--; at < 0 {
			return fmt.Errorf("a page has fewer values than it says: %w", io.ErrUnexpectedEOF)
		}
		*cell = c.buf[at]
		cell.Rep, cell.Def = rep, def
		if err := c.check.value(cell); err != nil {
			return err
		}
	}
	if at != 0 {
		return fmt.Errorf("a page has more values than it says")
	}
	return nil
}

// end checks the column when all rows were read.
func (c *chunk) end() (err error) {
	defer recovered("a page", &err)
	if c.left > 0 || len(c.cells) > 0 || c.from.HasNext() {
		return fmt.Errorf("it has more values than the row group has rows")
	}
	if err := c.from.Err(); err != nil {
		return err
	}
	return c.check.end()
}

// readerOf returns a function that decodes at most batch values of one page into the buffer of a chunk.
func readerOf(from file.ColumnChunkReader) func(c *chunk) (int64, int, error) {
	switch r := from.(type) {
	case *file.BooleanColumnChunkReader:
		return typed(r.ReadBatchInPage, func(v bool, to *Cell) {
			to.Bits = 0
			if v {
				to.Bits = 1
			}
		})
	case *file.Int32ColumnChunkReader:
		return typed(r.ReadBatchInPage, func(v int32, to *Cell) { to.Bits = uint64(int64(v)) })
	case *file.Int64ColumnChunkReader:
		return typed(r.ReadBatchInPage, func(v int64, to *Cell) { to.Bits = uint64(v) })
	case *file.Float32ColumnChunkReader:
		return typed(r.ReadBatchInPage, func(v float32, to *Cell) { to.Bits = uint64(math.Float32bits(v)) })
	case *file.Float64ColumnChunkReader:
		return typed(r.ReadBatchInPage, func(v float64, to *Cell) { to.Bits = math.Float64bits(v) })
	case *file.Int96ColumnChunkReader:
		return typed(r.ReadBatchInPage, func(v parquet.Int96, to *Cell) { to.Bytes = bytes.Clone(v[:]) })
	case *file.ByteArrayColumnChunkReader:
		return typed(r.ReadBatchInPage, func(v parquet.ByteArray, to *Cell) { to.Bytes = v })
	case *file.FixedLenByteArrayColumnChunkReader:
		return typed(r.ReadBatchInPage, func(v parquet.FixedLenByteArray, to *Cell) { to.Bytes = v })
	}
	return func(*chunk) (int64, int, error) { return 0, 0, fmt.Errorf("its type is unknown") }
}

// typed returns a function that decodes with read, and puts each value into a cell.
func typed[T any](read func(int64, []T, []int16, []int16) (int64, int, error), put func(T, *Cell)) func(c *chunk) (int64, int, error) {
	var values [batch]T
	return func(c *chunk) (int64, int, error) {
		levels, n, err := read(min(c.atOnce, c.left), values[:], c.defs[:], c.reps[:])
		for i := range n {
			c.buf[i].Bytes = nil
			put(values[i], &c.buf[i])
		}
		return levels, n, err
	}
}
