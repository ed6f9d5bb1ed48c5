package output

import (
	"fmt"

	"github.com/parquet-go/parquet-go"

	"github.com/neardup/neardup/cmd/neardup/input"
	"github.com/neardup/neardup/cmd/neardup/rows"
)

// This file writes Parquet: rows of Parquet files as they are, with their types and in row groups like theirs, and rows of other sources with the
// types that their values have.

// A parquetCopy writes rows of Parquet files.
type parquetCopy struct {
	Target
	//lint:ignore SA1019 its successor wants the type of a row, and here only the schema is known
	out     *parquet.Writer
	schema  *parquet.Schema // of the sources
	first   string          // the path of the first one
	columns int
	group   int32 // of the row before
}

func (o *parquetCopy) Begin(s *input.Source) error {
	if o.out != nil {
		if s.Header.Parquet.String() != o.schema.String() {
			return fmt.Errorf("%s:1: the columns have other names or types than those of %s", s.Path, o.first)
		}
		return o.flush(0)
	}
	if err := newColumns(s, o.Added, o.Path); err != nil {
		return err
	}
	o.schema, o.first, o.columns = s.Header.Parquet, s.Path, len(s.Header.Parquet.Columns())
	schema := o.schema
	if len(o.Added) > 0 {
		schema = rows.Extended(schema, o.Added)
	}
	o.out = parquet.NewWriter(o.W, schema, parquet.Compression(s.Header.Compression))
	return nil
}

// flush ends a row group if the next row is of another one.
func (o *parquetCopy) flush(group int32) error {
	if group == o.group {
		return nil
	}
	o.group = group
	return o.out.Flush()
}

func (o *parquetCopy) Write(_ *input.Source, it *input.Item, more []string) error {
	if err := o.flush(it.Group); err != nil {
		return err
	}
	row := it.Parquet
	if len(more) > 0 {
		row = rows.AppendTexts(row, o.columns, more)
	}
	_, err := o.out.WriteRows([]parquet.Row{row})
	return err
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
	//lint:ignore SA1019 as above
	out *parquet.Writer
	buf parquet.Row
}

func newParquetOut(table tableOut) *parquetOut {
	return &parquetOut{tableOut: table, out: parquet.NewWriter(table.W, table.columns.Schema(), parquet.Compression(&parquet.Zstd))}
}

func (o *parquetOut) Write(s *input.Source, it *input.Item, more []string) error {
	values, err := o.row(s, it, more)
	if err != nil {
		return err
	}
	o.buf = o.columns.AppendRow(o.buf[:0], values)
	_, err = o.out.WriteRows([]parquet.Row{o.buf})
	return err
}

func (o *parquetOut) End() error { return o.out.Close() }
