package output

import (
	"fmt"

	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/neardup/neardup/cmd/neardup/input"
	"github.com/neardup/neardup/cmd/neardup/parquet"
	"github.com/neardup/neardup/cmd/neardup/rows"
)

// This file writes Parquet: rows of Parquet files as they are, with their types and in row groups like theirs, and rows of other sources with the
// types that their values have.

// A parquetCopy writes rows of Parquet files.
type parquetCopy struct {
	Target
	out    *parquet.Writer
	schema *schema.Schema // of the sources
	first  string         // the path of the first one
	group  int32          // of the row before
}

func (o *parquetCopy) Begin(s *input.Source) error {
	if o.out != nil {
		if !s.Header.Parquet.Schema.Equals(o.schema) {
			return fmt.Errorf("%s:1: the columns differ in name or type from those of %s", s.Path, o.first)
		}
		return o.flush(0)
	}
	if err := newColumns(s, o.Added, o.Path); err != nil {
		return err
	}
	o.schema, o.first = s.Header.Parquet.Schema, s.Path
	root, err := rows.Extended(o.schema, o.Added)
	if err != nil {
		return fmt.Errorf("%s: %w", o.Path, err)
	}
	o.out, err = parquet.NewWriter(o.W, root, s.Header.Parquet.Compression, nil)
	return err
}

// flush ends a row group if the next row is of another one.
func (o *parquetCopy) flush(group int32) error {
	if group == o.group {
		return nil
	}
	o.group = group
	return o.out.EndGroup()
}

func (o *parquetCopy) Write(_ *input.Source, it *input.Item, row Row) error {
	if err := o.flush(it.Group); err != nil {
		return err
	}
	cells := it.Parquet
	if len(row.added) > 0 {
		cells = rows.AppendTexts(cells, row.added)
	}
	return o.out.Write(cells)
}

func (o *parquetCopy) End() error {
	if o.out == nil {
		return nil
	}
	return o.out.Close()
}

// A parquetOut writes rows of any sources.
type parquetOut struct {
	tableOut
	out *parquet.Writer
	buf [][]parquet.Cell
}

func newParquetOut(table tableOut) (Writer, error) {
	root, err := table.columns.Schema()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", table.Path, err)
	}
	out, err := parquet.NewWriter(table.W, root, compress.Codecs.Zstd, nil)
	return &parquetOut{tableOut: table, out: out}, err
}

func (o *parquetOut) Write(_ *input.Source, _ *input.Item, row Row) error {
	o.buf = o.columns.Row(o.buf, row.values)
	return o.out.Write(o.buf)
}

func (o *parquetOut) End() error { return o.out.Close() }
