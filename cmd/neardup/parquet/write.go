package parquet

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"sort"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/apache/arrow-go/v18/parquet/schema"
)

// This file writes rows. A row group is in memory, encoded, until it ends.

// groupBytes is the size at which a row group ends, as large as those of most writers.
const groupBytes = 64 << 20

// A Writer writes rows of cells, for one goroutine.
type Writer struct {
	to      *footed
	out     *file.Writer
	group   file.BufferedRowGroupWriter // nil if there is none yet
	columns []column
	waiting int // how many rows are not encoded yet
}

// NewWriter returns a writer of rows with a schema. notes are the metadata of the file.
func NewWriter(w io.Writer, root *schema.GroupNode, codec compress.Compression, notes map[string]string) (*Writer, error) {
	registerCodecs()
	props := parquet.NewWriterProperties(parquet.WithCompression(codec), parquet.WithVersion(parquet.V2_LATEST), parquet.WithCreatedBy("neardup"))
	options := []file.WriteOption{file.WithWriterProps(props)}
	if len(notes) > 0 {
		all := metadata.NewKeyValueMetadata()
		for _, key := range slices.Sorted(maps.Keys(notes)) {
			if err := all.Append(key, notes[key]); err != nil {
				return nil, err
			}
		}
		options = append(options, file.WithWriteMetadata(all))
	}
	to := &footed{Writer: w} // whose Close is the caller's
	out, err := file.NewParquetWriterWithError(to, root, options...)
	if err != nil {
		return nil, err
	}
	return &Writer{to: to, out: out, columns: make([]column, out.NumColumns())}, nil
}

// Write writes a row: the cells of each column. Their bytes must not change until EndGroup or Close.
func (w *Writer) Write(row [][]Cell) error {
	if w.group == nil {
		if err := w.begin(); err != nil {
			return err
		}
	}
	for i := range w.columns {
		w.columns[i].cells = append(w.columns[i].cells, row[i]...)
	}
	if w.waiting++; w.waiting < batch {
		return nil
	}
	if err := w.encode(); err != nil {
		return err
	}
	if w.group.TotalBytesWritten()+w.group.TotalCompressedBytes() >= groupBytes {
		return w.EndGroup()
	}
	return nil
}

func (w *Writer) begin() (err error) {
	if w.group, err = w.out.AppendBufferedRowGroupChecked(); err != nil {
		return err
	}
	for i := range w.columns {
		to, err := w.group.Column(i)
		if err != nil {
			return err
		}
		w.columns[i] = column{of: to.Descr(), write: writerOf(to)}
	}
	return nil
}

// encode encodes the rows that wait.
func (w *Writer) encode() (err error) {
	for i := range w.columns {
		if err := w.columns[i].encode(); err != nil {
			return fmt.Errorf("column %q: %w", w.columns[i].of.Path(), err)
		}
	}
	w.waiting = 0
	return nil
}

// EndGroup ends the row group, if it has rows.
func (w *Writer) EndGroup() error {
	if w.group == nil {
		return nil
	}
	err := w.encode()
	if err == nil {
		err = w.group.Close()
	}
	w.group = nil
	return err
}

// Close writes the rest of the file.
func (w *Writer) Close() error {
	if err := w.EndGroup(); err != nil {
		return err
	}
	w.to.isFooter = true
	if err := w.out.Close(); err != nil {
		return err
	}
	return w.to.end()
}

// A footed writer holds the footer of a file back. The library counts the encodings of pages in a map, and writes them in its order; here they
// get an order that is always the same.
type footed struct {
	io.Writer
	isFooter bool
	footer   bytes.Buffer
}

func (f *footed) Write(b []byte) (int, error) {
	if f.isFooter {
		return f.footer.Write(b)
	}
	return f.Writer.Write(b)
}

// end writes the footer: metadata, their length in four bytes, and four letters.
func (f *footed) end() error {
	const ending = 8
	b := f.footer.Bytes()
	if len(b) < ending || int(binary.LittleEndian.Uint32(b[len(b)-ending:])) > len(b)-ending {
		return errors.New("parquet: the library did not write a footer")
	}
	from := len(b) - ending - int(binary.LittleEndian.Uint32(b[len(b)-ending:]))
	m, err := metadata.NewFileMetaData(b[from:len(b)-ending], nil)
	if err != nil {
		return err
	}
	for _, group := range m.RowGroups {
		for _, c := range group.Columns {
			pages := c.MetaData.EncodingStats
			sort.Slice(pages, func(i, j int) bool {
				x, y := pages[i], pages[j]
				return cmp.Or(cmp.Compare(x.PageType, y.PageType), cmp.Compare(x.Encoding, y.Encoding)) < 0
			})
		}
	}
	data, err := m.Serialize(context.Background())
	if err != nil {
		return err
	}
	whole := binary.LittleEndian.AppendUint32(append(bytes.Clone(b[:from]), data...), uint32(len(data)))
	_, err = f.Writer.Write(append(whole, b[len(b)-4:]...))
	return err
}

// A column writes the cells of a column.
type column struct {
	of         *schema.Column
	cells      []Cell
	defs, reps []int16
	write      func(cells []Cell, defs, reps []int16) error // of cells that are not null
}

// encode writes the cells that wait.
func (c *column) encode() error {
	c.defs, c.reps = c.defs[:0], c.reps[:0]
	values := c.cells[:0]
	for _, cell := range c.cells {
		c.defs, c.reps = append(c.defs, cell.Def), append(c.reps, cell.Rep)
		if cell.Def == c.of.MaxDefinitionLevel() {
			values = append(values, cell)
		}
	}
	defs, reps := c.defs, c.reps
	if c.of.MaxDefinitionLevel() == 0 {
		defs = nil
	}
	if c.of.MaxRepetitionLevel() == 0 {
		reps = nil
	}
	err := c.write(values, defs, reps)
	clear(c.cells)
	c.cells = c.cells[:0]
	return err
}

// writerOf returns a function that writes values with their levels.
func writerOf(to file.ColumnChunkWriter) func([]Cell, []int16, []int16) error {
	switch w := to.(type) {
	case *file.BooleanColumnChunkWriter:
		return values(w.WriteBatch, func(c *Cell) bool { return c.Bits != 0 })
	case *file.Int32ColumnChunkWriter:
		return values(w.WriteBatch, func(c *Cell) int32 { return int32(c.Bits) })
	case *file.Int64ColumnChunkWriter:
		return values(w.WriteBatch, func(c *Cell) int64 { return int64(c.Bits) })
	case *file.Float32ColumnChunkWriter:
		return values(w.WriteBatch, func(c *Cell) float32 { return math.Float32frombits(uint32(c.Bits)) })
	case *file.Float64ColumnChunkWriter:
		return values(w.WriteBatch, func(c *Cell) float64 { return math.Float64frombits(c.Bits) })
	case *file.Int96ColumnChunkWriter:
		return values(w.WriteBatch, func(c *Cell) (x parquet.Int96) { copy(x[:], c.Bytes); return x })
	case *file.ByteArrayColumnChunkWriter:
		return values(w.WriteBatch, func(c *Cell) parquet.ByteArray {
			if c.Bytes == nil { // which the library leaves out of the statistics
				return parquet.ByteArray{}
			}
			return c.Bytes
		})
	case *file.FixedLenByteArrayColumnChunkWriter:
		return values(w.WriteBatch, func(c *Cell) parquet.FixedLenByteArray { return c.Bytes })
	}
	return func([]Cell, []int16, []int16) error { return fmt.Errorf("its type is unknown") }
}

func values[T any](write func([]T, []int16, []int16) (int64, error), of func(*Cell) T) func([]Cell, []int16, []int16) error {
	var buf []T
	return func(cells []Cell, defs, reps []int16) error {
		buf = buf[:0]
		for i := range cells {
			buf = append(buf, of(&cells[i]))
		}
		_, err := write(buf, defs, reps)
		return err
	}
}
