package main

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/neardup/neardup/cmd/neardup/rows"
)

// This file writes items of the sources in any format. What a format cannot hold is written as package rows says.

// outFormat returns the format of a collection, by the name of its file.
func outFormat(path string) string {
	switch f := formatOf(path, ""); f {
	case "":
		return "jsonl"
	case "txt":
		return "lines"
	default:
		return f
	}
}

// checkOut returns an error if the documents of the sources cannot be written to path. Lines can only hold lines.
func checkOut(path string, sources []source) error {
	f := outFormat(path)
	if f == "json" || f == "html" || f == fingerprints || formatOf(path, "") == "" && filepath.Ext(withoutCompression(path)) != "" {
		return fmt.Errorf("%s: this format cannot be written; use a .jsonl file", path)
	}
	if hasMacros(path) && (len(sources) != 1 || !hasMacros(sources[0].path)) {
		return fmt.Errorf("%s: a new workbook has no macros; use a .xlsx file", path)
	}
	for _, s := range sources {
		if f == "lines" && s.format != "lines" && s.err == nil {
			return fmt.Errorf("%s: this format cannot hold the documents of %s (%s); use a .jsonl file", path, s.path, s.format)
		}
	}
	return nil
}

// hasMacros reports whether a name is that of a workbook with macros, which Excel opens by no other name.
func hasMacros(path string) bool { return strings.HasSuffix(strings.ToLower(path), ".xlsm") }

// needsColumns reports whether the columns of all documents must be known before the first one is written: those of tables of text
// stand in their headers.
func needsColumns(path string, sources []source) bool {
	switch outFormat(path) {
	case "jsonl", "lines":
		return false
	case "csv", "tsv":
		return slices.ContainsFunc(sources, func(s source) bool { return s.format != "csv" && s.format != "tsv" })
	}
	return true
}

// cleanedName returns a name for a cleaned collection of sources: of their format, if all have one that can be written.
func cleanedName(sources []source) string {
	format := "jsonl"
	for i, s := range sources {
		if f := s.format; isTable(f) && (i == 0 || f == format) {
			format = f
		} else {
			return "cleaned.jsonl"
		}
	}
	return "cleaned." + format
}

// typed returns the fields of an item with their values.
func (it *item) typed(s *source, cols columns) (fields rows.Struct, err error) {
	switch {
	case it.parquet != nil:
		for i, v := range s.header.reader.Read(it.parquet) {
			fields = append(fields, rows.Field{Name: s.header.fields[i], Value: v})
		}
	case it.values != nil:
		for i, name := range s.header.fields {
			fields = append(fields, rows.Field{Name: name, Value: it.values[i]})
		}
	case it.row != nil:
		for i, name := range s.header.names {
			fields = append(fields, rows.Field{Name: name, Value: it.row[i]})
		}
	case s.format == "jsonl" || s.format == "json":
		v, err := rows.ParseJSON(it.raw)
		if err != nil {
			return nil, err
		}
		fields, _ = v.(rows.Struct)
	default:
		d, err := it.parse(s, cols, &decoder{})
		if err != nil {
			return nil, err
		}
		fields = rows.Struct{{Name: cols.id, Value: d.id}, {Name: cols.texts()[0], Value: d.text}}
	}
	return fields, nil
}

// A writer writes items of the sources to a file.
type writer interface {
	begin(s *source) error // is called before the first row of a table, and also if it has none
	write(s *source, it *item, more []string) error
	drop(s *source, it *item) // is called for the others
	end() error
}

// newWriter returns a writer. columns are those of all documents, or nil if they are not needed.
func newWriter(to target, columns *rows.Columns) (writer, error) {
	format := outFormat(to.path)
	switch {
	case format == "jsonl":
		return &jsonOut{to}, nil
	case format == "lines":
		return &linesOut{to}, nil
	}
	if columns != nil {
		for _, name := range to.added {
			if slices.Contains(columns.Names(), name) {
				return nil, fmt.Errorf("%s: there is a column %q already, which is to be added", to.path, name)
			}
		}
		columns.Name(to.added)
	}
	table := tableOut{target: to, columns: columns}
	switch {
	case format == "xlsx":
		return newSheetOut(table)
	case format == "parquet":
		return newParquetOut(table), nil
	}
	o := &csvOut{tableOut: table, rows: csv.NewWriter(to.w)}
	if format == "tsv" {
		o.rows.Comma = '\t'
	}
	if columns != nil {
		return o, o.header(columns.Names())
	}
	return o, nil
}

// A tableOut has the columns of a table.
type tableOut struct {
	target
	columns *rows.Columns // with those that are added; nil if the rows of the sources stay as they are
	values  []rows.Value
}

// row returns the values of an item in the order of the columns. An added text that is empty is null. They are valid until the next call.
func (o *tableOut) row(s *source, it *item, more []string) ([]rows.Value, error) {
	fields, err := it.typed(s, o.cols)
	if err != nil {
		return nil, err
	}
	o.values = o.columns.Values(fields, o.values)
	for i, text := range more {
		if text != "" {
			o.values[len(o.values)-len(more)+i] = text
		}
	}
	return o.values, nil
}

// A csvOut writes a table of text.
type csvOut struct {
	tableOut
	rows  *csv.Writer
	names []string
}

// header writes the names of the columns.
func (o *csvOut) header(names []string) error {
	o.names = names
	if o.columns == nil {
		names = slices.Concat(names, o.added)
	}
	if o.columns != nil || o.added != nil {
		o.w.WriteString("\ufeff") // Excel takes a file without it for one in the encoding of the country
	}
	if o.columns != nil {
		names = slices.Clone(names)
		for i := range names {
			names[i] = harmless(names[i])
		}
	}
	return o.rows.Write(names)
}

func (o *csvOut) begin(s *source) error {
	if o.columns != nil {
		return nil
	}
	if o.names == nil {
		if o.added == nil && (s.hasMark || s.decoded) {
			o.w.WriteString("\ufeff")
		}
		if s.format == "csv" && outFormat(o.path) == "csv" {
			o.rows.Comma = s.header.separator
		}
		if err := cmp.Or(newColumns(s, o.added, o.path), o.header(s.header.names)); err != nil {
			return err
		}
	}
	if slices.Equal(o.names, s.header.names) {
		return nil
	}
	return fmt.Errorf("%s:1: the columns are %q instead of %q, so %s cannot hold both", s.path, s.header.names, o.names, o.path)
}

func (o *csvOut) write(s *source, it *item, more []string) error {
	if o.columns == nil && o.added == nil { // a copy of a table is as dangerous as it was
		return o.rows.Write(it.row)
	}
	if o.columns == nil {
		cells := slices.Concat(it.row, more)
		for i, cell := range cells {
			cells[i] = harmless(cell)
		}
		return o.rows.Write(cells)
	}
	values, err := o.row(s, it, more)
	if err != nil {
		return err
	}
	cells := make([]string, len(values))
	for i, v := range values {
		cells[i] = rows.Text(v)
		if _, isText := v.(string); isText { // a number may begin with a minus
			cells[i] = harmless(cells[i])
		}
	}
	return o.rows.Write(cells)
}

func (o *csvOut) end() error {
	o.rows.Flush()
	return o.rows.Error()
}

// newColumns returns an error if columns that are added are there already.
func newColumns(s *source, added []string, path string) error {
	for _, name := range added {
		if slices.Contains(s.header.fields, name) {
			return fmt.Errorf("%s:1: there is a column %q already, which %s is to have", s.path, name, path)
		}
	}
	return nil
}

// A linesOut writes a text in a line.
type linesOut struct{ target }

func (o *linesOut) write(_ *source, it *item, _ []string) error {
	o.w.Write(it.raw)
	return o.w.WriteByte('\n')
}

// A jsonOut writes JSON lines. Objects stay as they are; rows and texts become objects.
type jsonOut struct{ target }

func (o *jsonOut) begin(s *source) error {
	if s.header.hasTwins() {
		return fmt.Errorf("%s:1: two columns have the same name, which an object of JSON cannot have: %q", s.path, s.header.fields)
	}
	return newColumns(s, o.added, "the output")
}

func (o *jsonOut) write(s *source, it *item, more []string) (err error) {
	line := it.raw
	switch s.format {
	case "jsonl":
	case "json":
		line = oneLine(line)
	default:
		fields, err := it.typed(s, o.cols)
		if err != nil {
			return err
		}
		line = rows.AppendJSON(nil, fields)
	}
	if o.added != nil {
		line = withFields(line, o.added, more)
	}
	o.w.Write(line)
	return o.w.WriteByte('\n')
}
