package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/xuri/excelize/v2"

	"github.com/neardup/neardup/cmd/neardup/internal/cli"
)

// This file writes collections: the cleaned one (--out), and the annotated one (--annotate), which has all
// documents with what was found about each. They are copied from the sources, which are read again, so the program
// does not keep all texts in memory.

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

// checkOut returns an error if the documents of the sources cannot be written to path. JSON lines
// can hold all documents, tables those of tables, and other formats only those of the same format.
func checkOut(path string, sources []source) error {
	f := outFormat(path)
	if f == "json" || formatOf(path, "") == "" && filepath.Ext(withoutCompression(path)) != "" {
		return fmt.Errorf("%s: this format cannot be written; use a .jsonl file", path)
	}
	for _, s := range sources {
		holds := f == "jsonl" || f == s.format || f != "parquet" && isTable(f) && isTable(s.format)
		if f == "html" || f == fingerprints {
			return fmt.Errorf("%s: this format cannot be written; use a .jsonl file", path)
		}
		if !holds && s.err == nil {
			return fmt.Errorf("%s: this format cannot hold the documents of %s (%s); use a .jsonl file", path, s.path, s.format)
		}
	}
	return nil
}

// A writer writes items of the sources to a file.
type writer interface {
	begin(s *source) error // is called before the first row of a table, and also if it has none
	write(s *source, it *item, more []string) error
	end() error
}

// newWriter returns a writer for the format of a path. added are the names of columns that are not in the sources.
func newWriter(w *cli.Output, path string, cols columns, added []string) writer {
	switch outFormat(path) {
	case "csv":
		return &csvOut{path: path, w: w, rows: csv.NewWriter(w), added: added}
	case "tsv":
		rows := csv.NewWriter(w)
		rows.Comma = '\t'
		return &csvOut{path: path, w: w, rows: rows, added: added}
	case "xlsx":
		return &sheetOut{path: path, w: w, added: added}
	case "lines":
		return &linesOut{w: w}
	}
	return &jsonOut{w: w, cols: cols, added: added}
}

// A csvOut writes a table of text.
type csvOut struct {
	path  string
	w     *cli.Output
	rows  *csv.Writer
	names []string
	added []string
}

func (o *csvOut) begin(s *source) error {
	if o.names == nil {
		if o.names = s.header.names; o.added != nil || s.hasMark || s.decoded {
			o.w.WriteString("\ufeff") // Excel takes a file without it for one in the encoding of the country
		}
		if s.format == "csv" && outFormat(o.path) == "csv" {
			o.rows.Comma = s.header.separator
		}
		if err := newColumns(s, o.added, o.path); err != nil {
			return err
		}
		if err := o.rows.Write(slices.Concat(o.names, o.added)); err != nil {
			return err
		}
	}
	return sameColumns(s, o.names, o.path)
}

func (o *csvOut) write(s *source, it *item, more []string) error {
	row := it.row
	if o.added != nil || s.format != "csv" && s.format != "tsv" { // a copy of a table is as dangerous as it was
		row = make([]string, 0, len(it.row)+len(more))
		for _, cell := range slices.Concat(it.row, more) {
			row = append(row, harmless(cell))
		}
	}
	return o.rows.Write(row)
}

func (o *csvOut) end() error {
	o.rows.Flush()
	return o.rows.Error()
}

// newColumns returns an error if columns that are added are there already.
func newColumns(s *source, added []string, path string) error {
	for _, name := range added {
		if slices.Contains(s.header.names, name) {
			return fmt.Errorf("%s:1: there is a column %q already, which %s is to have", s.path, name, path)
		}
	}
	return nil
}

// sameColumns returns an error if a source has other columns than a table.
func sameColumns(s *source, names []string, path string) error {
	if slices.Equal(names, s.header.names) {
		return nil
	}
	return fmt.Errorf("%s:1: the columns are %q instead of %q, so %s cannot hold both", s.path, s.header.names, names, path)
}

// A sheetOut writes a workbook with one sheet. All cells are texts, so none is a formula.
type sheetOut struct {
	path  string
	w     *cli.Output
	book  *excelize.File
	rows  *excelize.StreamWriter
	names []string
	added []string
	row   int
}

// mostCell and mostRows are what Excel can show.
const (
	mostCell = 32_767
	mostRows = 1 << 20
)

func (o *sheetOut) begin(s *source) error {
	if o.book == nil {
		o.book, o.names = excelize.NewFile(), s.header.names
		err := newColumns(s, o.added, o.path)
		if err != nil {
			return err
		}
		if o.rows, err = o.book.NewStreamWriter("Sheet1"); err != nil {
			return err
		}
		if err := o.put(slices.Concat(o.names, o.added)); err != nil {
			return err
		}
	}
	return sameColumns(s, o.names, o.path)
}

func (o *sheetOut) write(_ *source, it *item, more []string) error {
	return o.put(slices.Concat(it.row, more))
}

// put writes a row.
func (o *sheetOut) put(row []string) error {
	if o.row++; o.row > mostRows {
		return fmt.Errorf("%s: a workbook has at most %d rows; use a .csv file", o.path, mostRows)
	}
	cells := make([]any, len(row))
	for i, text := range row {
		if len(text) > mostCell && len([]rune(text)) > mostCell {
			return fmt.Errorf("%s: a cell of a workbook has at most %d characters; use a .csv file", o.path, mostCell)
		}
		if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && !strings.ContainsRune("\t\r\n", r) || r == 0xFFFE || r == 0xFFFF }) {
			return fmt.Errorf("%s: row %d has a control character, which a workbook cannot have; use a .csv file", o.path, o.row)
		}
		cells[i] = text
	}
	return o.rows.SetRow("A"+strconv.Itoa(o.row), cells)
}

func (o *sheetOut) end() error {
	if o.book == nil {
		o.book = excelize.NewFile()
	} else if err := o.rows.Flush(); err != nil {
		return err
	}
	defer o.book.Close()
	return o.book.Write(o.w)
}

// A linesOut writes a text in a line.
type linesOut struct{ w *cli.Output }

func (o *linesOut) begin(*source) error { return nil }

func (o *linesOut) write(_ *source, it *item, _ []string) error {
	o.w.Write(it.raw)
	return o.w.WriteByte('\n')
}

func (o *linesOut) end() error { return nil }

// A jsonOut writes JSON lines. Objects stay as they are; rows and texts become objects.
type jsonOut struct {
	w     *cli.Output
	cols  columns
	added []string
}

func (o *jsonOut) begin(s *source) error {
	names := slices.Clone(s.header.names)
	slices.Sort(names)
	if len(slices.Compact(names)) < len(s.header.names) {
		return fmt.Errorf("%s:1: two columns have the same name, which an object of JSON cannot have: %q", s.path, s.header.names)
	}
	return newColumns(s, o.added, "the output")
}

func (o *jsonOut) write(s *source, it *item, more []string) error {
	if s.format != "jsonl" && s.format != "json" {
		return writeJSON(o.w, it, s, o.cols, o.added, more)
	}
	line := it.raw
	if s.format == "json" {
		line = oneLine(line)
	}
	if o.added != nil {
		var err error
		if line, err = withFields(line, o.added, more); err != nil {
			return err
		}
	}
	o.w.Write(line)
	return o.w.WriteByte('\n')
}

func (o *jsonOut) end() error { return nil }

// write writes the documents for which more reports true, in the order of the sources. more returns what is added to
// a document, by its number.
func (c *collection) write(w *cli.Output, path string, o *options, stdin io.Reader, added []string, more func(i int) (values []string, ok bool)) error {
	if outFormat(path) == "parquet" {
		return c.copyParquet(w, more)
	}
	cols := o.cols
	cols.all = true
	out := newWriter(w, path, cols, added)
	err := c.again(o, stdin, cols, func(i int, s *source, it *item) error {
		if values, ok := more(i); ok {
			return out.write(s, it, values)
		}
		return nil
	}, out.begin)
	if err != nil {
		return err
	}
	return out.end()
}

// again reads the new sources once more, and calls use with the item of each document, in their order. It calls
// begin for each source with a header, before its first document. It returns the first error of the two, and an error
// if the documents are not there any more.
func (c *collection) again(o *options, stdin io.Reader, cols columns, use func(i int, s *source, it *item) error, begin func(s *source) error) error {
	next := c.old
	for n := c.oldSources; n < len(c.sources); n++ {
		s := &c.sources[n]
		r, closeSource, err := s.open(stdin, io.Discard)
		if err != nil && !o.skipBad {
			return err
		}
		if err != nil {
			continue // the first reading counted it
		}
		var failed error
		begun := false
		start := func() {
			if s.header != nil && !begun {
				begun, failed = true, begin(s)
			}
		}
		err = s.read(n, r, cols, o.maxLine, func(it item) bool {
			if next == c.docs.Len() || it.place != c.doc(next).place || it.err != nil {
				return true
			}
			if start(); failed == nil {
				failed = use(next, s, &it)
			}
			next++
			return failed == nil
		})
		closeSource()
		if failed == nil {
			start() // it may have no documents
		}
		if failed != nil {
			return failed
		}
		if err != nil && !o.skipBad {
			return err
		}
	}
	if next < c.docs.Len() {
		return fmt.Errorf("%s: the file changed while it was being read", c.sources[c.doc(next).source].path)
	}
	return nil
}

// writeOut writes the documents that are kept, unchanged.
func (c *collection) writeOut(w *cli.Output, o *options, stdin io.Reader) error {
	return c.write(w, o.out, o, stdin, nil, func(i int) ([]string, bool) { return nil, int(c.cluster[i]) == i })
}

// annotations are the columns that --annotate adds.
var annotations = []string{"neardup_group", "neardup_kept", "neardup_like", "neardup_similarity", "neardup_kind"}

// writeAnnotated writes all documents with what was found about each: the number of its group, if it is in one;
// whether it is kept; and otherwise which document is, how similar they are and how they differ.
func (c *collection) writeAnnotated(w *cli.Output, o *options, stdin io.Reader) error {
	numbers := make(map[int]int) // of groups, by the document that they keep
	size := make(map[int]int)
	for i := c.old; i < c.docs.Len(); i++ {
		size[int(c.cluster[i])]++
	}
	return c.write(w, o.annotate, o, stdin, annotations, func(i int) ([]string, bool) {
		root := int(c.cluster[i])
		if root == i && size[i] == 1 {
			return []string{"", "yes", "", "", ""}, true
		}
		if numbers[root] == 0 {
			numbers[root] = len(numbers) + 1
		}
		values := []string{strconv.Itoa(numbers[root]), "yes", "", "", ""}
		if root != i {
			values[1], values[2] = "no", c.doc(root).id
			if p, ok := c.like[i]; ok && (p.probability > 0 || c.exact == nil) {
				values[3] = c.method.show(p.value)
				if p.kind != 0 {
					values[4] = p.kind.String()
				}
			}
		}
		return values, true
	})
}

// copyParquet copies rows of Parquet files as they are, with their types, in row groups like theirs.
func (c *collection) copyParquet(w io.Writer, more func(i int) ([]string, bool)) (err error) {
	var out *parquet.Writer
	var schema *parquet.Schema
	next := c.old
	for n := c.oldSources; n < len(c.sources); n++ {
		s := &c.sources[n]
		if s.err != nil {
			continue // the first reading counted it
		}
		file, size, done, err := s.file(s.copy)
		if err != nil {
			return err
		}
		defer done()
		p, err := s.openParquet(file, size)
		if err != nil {
			return err
		}
		if out == nil {
			schema = p.Schema()
			out = parquet.NewWriter(w, schema, parquet.Compression(compressionOf(p)))
		} else if p.Schema().String() != schema.String() {
			return fmt.Errorf("%s:1: the columns have other names or types than those of %s", s.path, c.sources[c.oldSources].path)
		}
		if next, err = c.copyRows(out, s, p, int32(n), next, more); err != nil {
			return err
		}
	}
	if out == nil {
		return nil
	}
	return out.Close()
}

// copyRows copies rows of one file, from document next on. It returns the first document of the next file.
func (c *collection) copyRows(out *parquet.Writer, s *source, p *parquet.File, n int32, next int, more func(i int) ([]string, bool)) (_ int, err error) {
	line := int32(0)
	defer s.recovered(1, &err)
	buf := make([]parquet.Row, 64)
	for _, group := range p.RowGroups() {
		rows := group.Rows()
		for {
			read, err := rows.ReadRows(buf)
			kept := buf[:0:0]
			for _, row := range buf[:read] {
				line++
				if next < c.docs.Len() && c.doc(next).place == (place{n, line}) {
					if _, ok := more(next); ok {
						kept = append(kept, row)
					}
					next++
				}
			}
			if _, err := out.WriteRows(kept); err != nil {
				return next, err
			}
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return next, fmt.Errorf("%s:%d: %w", s.path, line, errors.Join(err, rows.Close()))
			}
		}
		if err := errors.Join(rows.Close(), out.Flush()); err != nil {
			return next, err
		}
	}
	return next, nil
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
