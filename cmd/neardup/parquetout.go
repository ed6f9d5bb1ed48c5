package main

import (
	"fmt"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"

	"github.com/neardup/neardup/cmd/neardup/rows"
)

// This file writes Parquet: rows of Parquet files as they are, with their types and in row groups like theirs, and rows of other sources with the
// types that their values have.

// A parquetCopy writes rows of Parquet files.
type parquetCopy struct {
	target
	out     *parquet.Writer
	schema  *parquet.Schema // of the sources
	first   string          // the path of the first one
	columns int
	group   int32 // of the row before
}

func (o *parquetCopy) begin(s *source) error {
	if o.out != nil {
		if s.header.parquet.String() != o.schema.String() {
			return fmt.Errorf("%s:1: the columns have other names or types than those of %s", s.path, o.first)
		}
		return o.flush(0)
	}
	if err := newColumns(s, o.added, o.path); err != nil {
		return err
	}
	o.schema, o.first, o.columns = s.header.parquet, s.path, len(s.header.parquet.Columns())
	schema := o.schema
	if len(o.added) > 0 {
		schema = rows.Extended(schema, o.added)
	}
	o.out = parquet.NewWriter(o.w, schema, parquet.Compression(s.header.compression))
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

func (o *parquetCopy) write(_ *source, it *item, more []string) error {
	if err := o.flush(it.group); err != nil {
		return err
	}
	row := it.parquet
	if len(more) > 0 {
		row = rows.AppendTexts(row, o.columns, more)
	}
	_, err := o.out.WriteRows([]parquet.Row{row})
	return err
}

func (o *parquetCopy) end() error {
	if o.out == nil {
		return nil
	}
	return o.out.Close()
}

// A parquetOut writes rows of any sources.
type parquetOut struct {
	tableOut
	out *parquet.Writer
	buf parquet.Row
}

func newParquetOut(table tableOut) *parquetOut {
	return &parquetOut{tableOut: table, out: parquet.NewWriter(table.w, table.columns.Schema(), parquet.Compression(&parquet.Zstd))}
}

func (o *parquetOut) write(s *source, it *item, more []string) error {
	values, err := o.row(s, it, more)
	if err != nil {
		return err
	}
	o.buf = o.columns.AppendRow(o.buf[:0], values)
	_, err = o.out.WriteRows([]parquet.Row{o.buf})
	return err
}

func (o *parquetOut) end() error { return o.out.Close() }

// compressionOf returns the compression of the first column of a file.
func compressionOf(p *parquet.File) compress.Codec {
	for _, g := range p.Metadata().RowGroups {
		for _, column := range g.Columns {
			return parquet.LookupCompressionCodec(column.MetaData.Codec)
		}
	}
	return &parquet.Snappy
}
