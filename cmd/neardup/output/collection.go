package output

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/neardup/neardup/cmd/neardup/cli"
	"github.com/neardup/neardup/cmd/neardup/input"
	"github.com/neardup/neardup/cmd/neardup/rows"
)

// This file writes items of the sources in any format. What a format cannot hold is written as package rows says.

// FormatOf returns the format of a collection, by the name of its file.
func FormatOf(path string) string {
	switch f := input.FormatOf(path, ""); f {
	case "":
		return "jsonl"
	case "txt":
		return "lines"
	default:
		return f
	}
}

// Check returns an error if the documents of the sources cannot be written to path. Lines can only hold lines.
func Check(path string, sources []input.Source) error {
	f := FormatOf(path)
	if f == "json" || f == "html" || f == "warc" || f == input.Fingerprints || input.FormatOf(path, "") == "" && filepath.Ext(input.WithoutCompression(path)) != "" {
		return fmt.Errorf("%s: this format cannot be written; use a .jsonl file", path)
	}
	if hasMacros(path) && (len(sources) != 1 || !hasMacros(sources[0].Path)) {
		return fmt.Errorf("%s: a new workbook has no macros; use a .xlsx file", path)
	}
	for _, s := range sources {
		if f == "lines" && s.Format != "lines" && s.Err == nil {
			return fmt.Errorf("%s: this format cannot hold the documents of %s (%s); use a .jsonl file", path, s.Path, s.Format)
		}
	}
	return nil
}

// hasMacros reports whether a name is that of a workbook with macros, which Excel opens by no other name.
func hasMacros(path string) bool { return strings.HasSuffix(strings.ToLower(path), ".xlsm") }

// needsColumns reports whether the columns of all documents must be known before the first one is written: those of tables of text
// stand in their headers.
func needsColumns(path string, sources []input.Source) bool {
	switch FormatOf(path) {
	case "jsonl", "lines":
		return false
	case "csv", "tsv":
		return slices.ContainsFunc(sources, func(s input.Source) bool { return s.Format != "csv" && s.Format != "tsv" })
	}
	return true
}

// CleanedName returns a name for a cleaned collection of sources: of their format, if all have one that can be written.
func CleanedName(sources []input.Source) string {
	format := "jsonl"
	for i, s := range sources {
		if f := s.Format; input.IsTable(f) && (i == 0 || f == format) {
			format = f
		} else {
			return "cleaned.jsonl"
		}
	}
	return "cleaned." + format
}

// A Writer writes items of the sources to a file. Its methods are called by one goroutine, except for Prepare.
type Writer interface {
	Begin(s *input.Source) error // is called before the first row of a table, and also if it has none

	// Prepare does what it can before it is an item's turn, with the values that are added to it. Several goroutines call it, perhaps before Begin.
	Prepare(s *input.Source, it *input.Item, more []string) (Row, error)

	Write(s *input.Source, it *input.Item, row Row) error
	Drop(s *input.Source, it *input.Item) // is called for items that are not written
	End() error
}

// A Row is what Prepare has made of an item. Each format has other parts of it.
type Row struct {
	added  []string     // what is added
	text   []byte       // a row as it is written
	values []rows.Value // in the order of the columns
}

// NewWriter returns a writer. columns are those of all documents, or nil if they are not needed.
func NewWriter(to Target, columns *rows.Columns) (Writer, error) {
	format := FormatOf(to.Path)
	switch {
	case format == "jsonl":
		return &jsonOut{to}, nil
	case format == "lines":
		return &linesOut{to}, nil
	}
	if columns != nil {
		for _, name := range to.Added {
			if slices.Contains(columns.Names(), name) {
				return nil, fmt.Errorf("%s: cannot add the column %q, because it already exists", to.Path, name)
			}
		}
		columns.Name(to.Added)
	}
	table := tableOut{Target: to, columns: columns}
	switch {
	case format == "xlsx":
		return newSheetOut(table)
	case format == "parquet":
		return newParquetOut(table)
	case format == "arrow":
		return newArrowOut(table)
	}
	o := &csvOut{tableOut: table, rows: csv.NewWriter(to.W)}
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
	Target
	columns *rows.Columns // with those that are added; nil if the rows of the sources stay as they are
}

// Prepare returns the values of an item in the order of the columns. An added text that is empty is null.
func (o *tableOut) Prepare(s *input.Source, it *input.Item, more []string) (Row, error) {
	fields, err := it.Typed(s, o.Cols)
	if err != nil {
		return Row{}, err
	}
	values := o.columns.Values(fields, nil)
	for i, text := range more {
		if text != "" {
			values[len(values)-len(more)+i] = text
		}
	}
	return Row{values: values}, nil
}

// A csvOut writes a table of text.
type csvOut struct {
	tableOut
	rows  *csv.Writer
	names []string
	like  *input.Header // of the first source
	isRaw bool          // rows of the source are written as they are
}

// raw writes bytes of a source as they are, and ends the line if its file ends in it.
func (o *csvOut) raw(b []byte) error {
	if o.rows.Flush(); len(b) == 0 {
		return nil
	}
	return o.copyLine(b)
}

// cells writes a row that has changed, or is of a table which is written otherwise.
func (o *csvOut) cells(row []string) error {
	if o.same == nil {
		return o.rows.Write(row)
	}
	text, err := csvText(row, o.rows.Comma)
	if err != nil {
		return err
	}
	return o.encode(text)
}

// header writes the names of the columns.
func (o *csvOut) header(names []string) error {
	o.names = names
	if o.columns == nil {
		names = slices.Concat(names, o.Added)
	}
	if o.columns != nil || o.Added != nil {
		o.W.WriteString("\ufeff") // Excel takes a file without it for one in the encoding of the country
	}
	if o.columns != nil {
		names = slices.Clone(names)
		for i := range names {
			names[i] = harmless(names[i])
		}
	}
	return o.rows.Write(names)
}

func (o *csvOut) Begin(s *input.Source) error {
	if o.columns != nil {
		return nil
	}
	if o.isRaw = o.copies(s); o.names == nil {
		if s.Format == "csv" && FormatOf(o.Path) == "csv" {
			o.rows.Comma = s.Header.Separator()
		}
		o.like = s.Header
		if o.Added == nil && (s.HasMark || s.Encoding != nil && o.same == nil) { // so that Excel knows what it is
			o.W.WriteString("\ufeff")
		}
		if o.isRaw {
			o.names = s.Header.Names
			return o.raw(s.Header.Raw)
		}
		if err := cmp.Or(newColumns(s, o.Added, o.Path), o.header(s.Header.Names)); err != nil {
			return err
		}
	}
	if slices.Equal(o.names, s.Header.Names) {
		return nil
	}
	return fmt.Errorf("%s:1: the columns are %q instead of %q, so %s cannot hold both", s.Path, s.Header.Names, o.names, o.Path)
}

// copies reports whether rows of a source can be written as they are.
func (o *csvOut) copies(s *input.Source) bool {
	return o.Added == nil && s.Format == FormatOf(o.Path) && o.keeps(s) && (o.names == nil || o.like.SameDialect(s.Header))
}

func (o *csvOut) Prepare(s *input.Source, it *input.Item, more []string) (Row, error) {
	if o.columns == nil {
		return Row{added: more}, nil
	}
	row, err := o.tableOut.Prepare(s, it, more)
	if err != nil {
		return row, err
	}
	cells := make([]string, len(row.values))
	for i, v := range row.values {
		cells[i] = rows.Text(v)
		if _, isText := v.(string); isText { // a number may begin with a minus
			cells[i] = harmless(cells[i])
		}
	}
	text, err := csvText(cells, o.rows.Comma)
	return Row{text: text}, err
}

// A csvBuffer formats rows.
type csvBuffer struct {
	to   bytes.Buffer
	rows *csv.Writer
}

var csvBuffers = sync.Pool{New: func() any {
	b := &csvBuffer{}
	b.rows = csv.NewWriter(&b.to)
	return b
}}

// csvText returns a row as it is written.
func csvText(cells []string, comma rune) ([]byte, error) {
	b := csvBuffers.Get().(*csvBuffer)
	defer csvBuffers.Put(b)
	b.to.Reset()
	b.rows.Comma = comma
	b.rows.Write(cells)
	b.rows.Flush()
	return bytes.Clone(b.to.Bytes()), b.rows.Error()
}

func (o *csvOut) Write(s *input.Source, it *input.Item, row Row) error {
	switch {
	case o.isRaw && !it.IsChanged(): // a copy of a table is as dangerous as it was
		return o.raw(it.Bytes)
	case o.columns != nil:
		o.rows.Flush() // the header
		_, err := o.W.Write(row.text)
		return err
	case o.Added == nil:
		return o.cells(it.Row)
	}
	cells := slices.Concat(it.Row, row.added)
	for i, cell := range cells {
		cells[i] = harmless(cell)
	}
	return o.rows.Write(cells)
}

func (o *csvOut) End() error {
	o.rows.Flush()
	return o.rows.Error()
}

// newColumns returns an error if columns that are added are there already.
func newColumns(s *input.Source, added []string, path string) error {
	for _, name := range added {
		if slices.Contains(s.Header.Fields, name) {
			return fmt.Errorf("%s:1: cannot add the column %q to %s, because it already exists", s.Path, name, path)
		}
	}
	return nil
}

// A linesOut writes a text in a line.
type linesOut struct{ Target }

func (o *linesOut) Write(s *input.Source, it *input.Item, _ Row) error {
	return o.line(s, it, it.Raw)
}

// A jsonOut writes JSON lines. Objects stay as they are; rows and texts become objects.
type jsonOut struct{ Target }

func (o *jsonOut) Begin(s *input.Source) error {
	if s.Header.HasTwins() {
		return fmt.Errorf("%s:1: two columns have the same name, which a JSON object cannot represent: %q", s.Path, s.Header.Fields)
	}
	return newColumns(s, o.Added, "the output")
}

func (o *jsonOut) Prepare(s *input.Source, it *input.Item, more []string) (Row, error) {
	line, err := JSONLine(it, s, o.Cols)
	if err != nil {
		return Row{}, err
	}
	for _, name := range o.Added {
		if !bytes.Contains(line, []byte(name)) {
			continue
		}
		fields, err := it.Typed(s, o.Cols)
		if err != nil {
			return Row{}, err
		}
		if slices.ContainsFunc(fields, func(f rows.Field) bool { return f.Name == name }) {
			return Row{}, fmt.Errorf("%s:%d: cannot add the field %q, because it already exists", s.Path, it.Line, name)
		}
	}
	if o.copies(s) {
		return Row{text: line}, nil
	}
	if len(line) > 0 && line[0] == '"' { // a text without anything else
		if fields, err := it.Typed(s, o.Cols); err == nil {
			line = rows.AppendJSON(nil, fields)
		}
	}
	return Row{text: withFields(line, o.Added, more)}, nil
}

// copies reports whether lines of a source that have not changed are written as they are.
func (o *jsonOut) copies(s *input.Source) bool { return o.Added == nil && s.Format == "jsonl" }

func (o *jsonOut) Write(s *input.Source, it *input.Item, row Row) error {
	if o.copies(s) {
		return o.line(s, it, row.text)
	}
	o.W.Write(row.text)
	return o.W.WriteByte('\n')
}

// withFields adds fields with texts to a JSON object.
func withFields(object []byte, names, values []string) []byte {
	if len(names) == 0 {
		return object
	}
	line := slices.Clone(bytes.TrimRight(object, " \t\r\n"))
	line = bytes.TrimRight(line[:len(line)-1], " \t\r\n")
	for i, name := range names {
		if len(line) > 1 || i > 0 {
			line = append(line, ',')
		}
		line = rows.AppendJSON(append(rows.AppendJSON(line, name), ':'), values[i])
	}
	return append(line, '}')
}

// JSONLine returns an item as a JSON object without line ends, which may be the item's own memory.
func JSONLine(it *input.Item, s *input.Source, cols input.Columns) ([]byte, error) {
	switch {
	case s.Format == "jsonl" && !it.IsChanged():
		return it.Raw, nil
	case s.Format == "json" && !it.IsChanged():
		var b bytes.Buffer
		if json.Compact(&b, it.Raw) != nil {
			return it.Raw, nil
		}
		return b.Bytes(), nil
	}
	fields, err := it.Typed(s, cols)
	if err != nil {
		return nil, err
	}
	return rows.AppendJSON(nil, fields), nil
}

// A Target is what a writer writes to.
type Target struct {
	Path  string
	W     *cli.Output
	Cols  input.Columns
	Added []string // the names of columns that are not in the sources

	same *input.Encoding // of all sources, if the file is in it too; nil if it is UTF-8
}

// sameEncoding returns the encoding of all sources, if a file of their format can be written in it: then their lines stay as they are.
func sameEncoding(to Target, sources []input.Source) *input.Encoding {
	var same *input.Encoding
	format := FormatOf(to.Path)
	for i := range sources {
		s := &sources[i]
		if s.Err != nil {
			continue
		}
		if s.Encoding == nil || s.Format != format || same != nil && same.Name != s.Encoding.Name {
			return nil
		}
		same = s.Encoding
	}
	if to.Added != nil || format != "jsonl" && format != "lines" && format != "csv" && format != "tsv" {
		return nil
	}
	return same
}

// begin writes the mark that a file in the encoding of its sources begins with.
func (t *Target) begin() {
	if t.same != nil {
		t.W.WriteString(t.same.Mark())
	}
}

// line writes the line of an item: as its source has it, or what has changed.
func (t *Target) line(s *input.Source, it *input.Item, text []byte) error {
	if it.Bytes != nil && !it.IsChanged() && t.keeps(s) {
		return t.copyLine(it.Bytes)
	}
	if t.same != nil {
		return t.encode(append(slices.Clip(text), '\n'))
	}
	t.W.Write(text)
	return t.W.WriteByte('\n')
}

// keeps reports whether the bytes of lines of a source can be written as they are.
func (t *Target) keeps(s *input.Source) bool {
	return s.Encoding == nil || !s.Encoding.IsByLine() || t.same != nil
}

// copyLine is copy for a line, which gets an end if it is the last one of a file without one.
func (t *Target) copyLine(b []byte) error {
	if n := len(b); n == 0 || b[n-1] != '\n' && b[n-1] != '\r' {
		b = append(slices.Clip(b), '\n')
	}
	return t.copy(b)
}

// copy writes bytes that a source has, which are UTF-8 if its encoding cannot be cut into lines.
func (t *Target) copy(b []byte) error {
	if t.same != nil && !t.same.IsByLine() {
		return t.encode(b)
	}
	_, err := t.W.Write(b)
	return err
}

// encode writes a text in the encoding of the sources.
func (t *Target) encode(text []byte) error {
	b, err := t.same.Append(nil, text)
	if err != nil {
		return fmt.Errorf("%s: a text cannot be encoded as %s: %w", t.Path, t.same.Name, err)
	}
	_, err = t.W.Write(b)
	return err
}

func (Target) Begin(*input.Source) error       { return nil }
func (Target) Drop(*input.Source, *input.Item) {}
func (Target) End() error                      { return nil }
func (Target) Prepare(_ *input.Source, _ *input.Item, more []string) (Row, error) {
	return Row{added: more}, nil
}

// NewCopy returns a writer that needs to know no columns, or nil if the columns of all documents must be known. n documents are read, and so
// many of them are removed. The note says what the user may not expect.
func NewCopy(to Target, sources []input.Source, n, removed int) (w Writer, note string, err error) {
	isAll := func(format string) bool {
		return !slices.ContainsFunc(sources, func(s input.Source) bool { return s.Err == nil && s.Format != format })
	}
	switch format := FormatOf(to.Path); {
	case format == "parquet" && isAll("parquet"):
		return &parquetCopy{Target: to}, "", nil
	case format == "xlsx" && len(sources) == 1 && isAll("xlsx") && hasMacros(to.Path) == hasMacros(sources[0].Path):
		if len(to.Added) > 0 || n*removed <= mostRemoved {
			return &bookOut{Target: to}, "", nil
		}
		note = fmt.Sprintf("%s is a new workbook, with values instead of formulas: removing %d of %d rows from %s would take too long", to.Path, removed, n, sources[0].Path)
	case !needsColumns(to.Path, sources):
		if to.same = sameEncoding(to, sources); to.same != nil {
			note = fmt.Sprintf("%s is encoded as %s, like the inputs", to.Path, to.same.Name)
		}
		to.begin()
		w, err = NewWriter(to, nil)
	}
	return w, note, err
}
