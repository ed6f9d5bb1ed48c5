package output

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/neardup/neardup/cmd/neardup/cli"
	"github.com/neardup/neardup/cmd/neardup/input"
	"github.com/neardup/neardup/cmd/neardup/together"
)

// This file writes tables of what was found. A table is JSON lines or CSV if its name says so, and otherwise has values separated by tabs,
// without a header.

// A Table writes rows.
type Table struct {
	w      writer
	format string
	names  []string
	rows   *csv.Writer
	buf    []string
}

// A writer is what a table is written to.
type writer interface {
	io.Writer
	io.StringWriter
}

// NewTable returns a table with some columns, in the format that a path says.
func NewTable(w *cli.Output, path string, names ...string) *Table {
	t := &Table{w: w, format: input.FormatOf(path, ""), names: names}
	if t.format == "csv" {
		t.rows = csv.NewWriter(w)
		t.rows.Write(names)
	}
	return t
}

// HasHeader reports whether the columns have names.
func (t *Table) HasHeader() bool { return t.format == "csv" || t.format == "jsonl" }

// Row writes a row. Values are strings, numbers, or nil for what is not known.
func (t *Table) Row(values ...any) error {
	if t.format == "jsonl" {
		for i, v := range values {
			separator := ","
			if i == 0 {
				separator = "{"
			}
			b, err := Marshal(v)
			if err != nil {
				return err
			}
			fmt.Fprintf(t.w, "%s%q:%s", separator, t.names[i], b)
		}
		_, err := t.w.WriteString("}\n")
		return err
	}
	t.buf = t.buf[:0]
	for _, v := range values {
		text, isText := v.(string)
		if v != nil && !isText {
			text = fmt.Sprint(v)
		}
		if t.rows != nil {
			text = harmless(text)
		} else {
			text = cli.Escape(text)
		}
		t.buf = append(t.buf, text)
	}
	if t.rows != nil {
		return t.rows.Write(t.buf)
	}
	_, err := t.w.WriteString(strings.Join(t.buf, "\t") + "\n")
	return err
}

// rowsAtOnce is how many rows a worker writes at a time.
const rowsAtOnce = 1024

// Rows writes n rows, in order. Several workers ask for their values and format them.
func (t *Table) Rows(workers, n int, row func(i int) ([]any, error)) error {
	parts := make([]bytes.Buffer, 4*workers)
	errs := make([]error, len(parts))
	for from := 0; from < n; from += len(parts) * rowsAtOnce {
		together.Each(workers, len(parts), func(k int) {
			parts[k].Reset()
			part := Table{w: &parts[k], format: t.format, names: t.names}
			if t.rows != nil {
				part.rows = csv.NewWriter(part.w)
			}
			for i := from + k*rowsAtOnce; i < min(n, from+(k+1)*rowsAtOnce) && errs[k] == nil; i++ {
				var values []any
				if values, errs[k] = row(i); errs[k] == nil {
					errs[k] = part.Row(values...)
				}
			}
			errs[k] = cmp.Or(errs[k], part.End())
		})
		if t.rows != nil { // the header is before them
			t.rows.Flush()
		}
		for k := range parts {
			if _, err := t.w.Write(parts[k].Bytes()); err != nil || errs[k] != nil {
				return cmp.Or(err, errs[k])
			}
		}
	}
	return nil
}

// End writes what is left.
func (t *Table) End() error {
	if t.rows == nil {
		return nil
	}
	t.rows.Flush()
	return t.rows.Error()
}

// harmless returns the text of a cell so that a spreadsheet does not take it for a formula: with ' before it if it
// begins like one, and is no number.
func harmless(cell string) string {
	begin := strings.TrimLeft(cell, "'") // so that what had such a sign before is told apart
	if begin == "" || !strings.ContainsRune("=+-@\t\r", rune(begin[0])) {
		return cell
	}
	if cell[0] == '-' && json.Valid([]byte(cell)) { // a number
		return cell
	}
	return "'" + cell
}

// unharmed returns a cell as it was before harmless.
func unharmed(cell string) string {
	if rest, ok := strings.CutPrefix(cell, "'"); ok && rest != harmless(rest) {
		return rest
	}
	return cell
}

// Marshal returns a value as JSON, without escapes for HTML.
func Marshal(v any) ([]byte, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return []byte(strings.TrimSuffix(b.String(), "\n")), nil
}

// ReadTable calls use with each row of a table that a Table wrote: its line, and its values by the names of the columns. A table without a header
// has the columns names, or the first ones of them. The first one must be there. The error has the place.
func ReadTable(path string, names []string, use func(line int32, row map[string]string) error) error {
	info, err := os.Stat(path)
	if err != nil {
		return cli.InFile(path, err)
	}
	s := input.Source{Path: path, Format: input.FormatOf(path, ""), Info: info}
	if s.Format != "csv" && s.Format != "jsonl" {
		s.Format = "lines"
	}
	r, finish, err := s.Open(nil, io.Discard)
	if err != nil {
		return err
	}
	defer finish()
	cols := input.Columns{ID: names[0], IDGiven: true, IsRecord: true, All: true}
	var wrong error
	err = s.Read(0, r, cols, 1<<26, func(it input.Item) bool {
		row, err := values(&it, &s, cols, names)
		if err == nil {
			err = use(it.Line, row)
		}
		if err != nil {
			wrong = fmt.Errorf("%s:%d: %w", path, it.Line, err)
		}
		return err == nil
	})
	return cmp.Or(wrong, err)
}

// values returns the values of a row.
func values(it *input.Item, s *input.Source, cols input.Columns, names []string) (map[string]string, error) {
	if it.Err != nil {
		return nil, it.Err
	}
	if s.Format == "lines" {
		row := map[string]string{}
		for i, cell := range strings.Split(string(it.Raw), "\t") {
			if i < len(names) {
				row[names[i]] = cli.Unescape(cell)
			}
		}
		return row, nil
	}
	d, row, err := it.Record(s, cols)
	if err != nil {
		return nil, err
	}
	row[names[0]] = d.ID
	if s.Format == "csv" {
		for name, cell := range row {
			row[name] = unharmed(cell)
		}
	}
	return row, nil
}
