package input

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// This file finds out how a file separates its cells, and where its header is, from its first lines.

// separators are those that are looked for, the most usual first.
var separators = []string{",", ";", "\t", "|"}

// sniffLines is how many lines of a table are looked at, to find its separator and its header.
const sniffLines = 40

// start finds out how a table is written, and reads its header.
func (r *csvReader) start() error {
	cols := r.of.cols
	above := r.findSeparator() // bytes before the header
	first := r.firstLines()
	rows, lines := sampleOf(first, r.dialect)
	if cols.NoHeader {
		return r.noHeader(rows, above)
	}
	at := 0
	if cols.HeaderRow > 0 {
		for at < len(lines)-1 && int(lines[at]) < cols.HeaderRow {
			at++
		}
	} else if len(rows) > 0 {
		found, err := findHeader(rows, cols)
		if err != nil { // perhaps since its names are in quotes behind blanks
			d := r.dialect
			d.blanks = true
			if others, _ := sampleOf(first, d); len(others) > 0 {
				if at, wrong := findHeader(others, cols); wrong == nil {
					rows, found, err, r.blanks = others, at, nil, true
				}
			}
		}
		if err != nil {
			return fmt.Errorf("%s:1: %w", r.of.Path, err)
		}
		if at = found; at > 0 {
			r.of.Note("the header is in row %d; rows above it are skipped", at+1)
		}
	}
	if r.blanks = r.blanks || len(rows) > 0 && haveBlanks(rows[at]); r.blanks {
		r.of.Note("blanks after the separators are dropped, since the header has them too")
	}
	return r.takeHeader(at, above)
}

// findSeparator finds out what stands between cells, and returns the line that says so, as Excel writes it.
func (r *csvReader) findSeparator() (line []byte) {
	s, cols := r.of, r.of.cols
	r.isTSV = s.Format == "tsv"
	if first := r.ahead(0); first.err == nil && !r.isTSV {
		if sep, ok := strings.CutPrefix(strings.ToLower(string(first.text)), "sep="); ok && len([]rune(sep)) == 1 {
			r.dialect.separator, line = sep, first.raw
			r.take()
		}
	}
	switch {
	case cols.Separator != 0:
		r.dialect.separator = string(cols.Separator)
	case r.dialect.separator != "":
	case r.isTSV:
		r.dialect.separator = "\t"
	default:
		if r.dialect.separator = separatorOf(r.firstLines(), cols); r.dialect.separator != "," {
			s.Note("columns are separated by %q", []rune(r.dialect.separator)[0])
		}
	}
	return line
}

// firstLines returns the first lines of a table, which are not taken.
func (r *csvReader) firstLines() (first []textLine) {
	for size := 0; len(first) < sniffLines && size < blockSize; {
		l := r.ahead(len(first))
		if l.err != nil && !isLineError(l.err) {
			break
		}
		first = append(first, *l)
		size += len(l.text)
	}
	return first
}

// isLineError reports whether reading can go on behind a line with an error.
func isLineError(err error) bool {
	var other *otherEncodingError
	return errors.Is(err, ErrTooLong) || errors.As(err, &other)
}

// sampleOf returns the cells of rows in some lines, and the lines in which they begin.
func sampleOf(first []textLine, d dialect) (rows [][]string, lines []int32) {
	sample := csvReader{dialect: d, queue: slices.Clone(first), most: blockSize}
	for {
		row, err := sample.read()
		if err == io.EOF {
			return rows, lines
		}
		if err == nil && !row.isBlank() {
			rows, lines = append(rows, row.cells), append(lines, row.line)
		}
	}
}

// haveBlanks reports whether blanks stand behind the separators of a header.
func haveBlanks(names []string) bool {
	for _, name := range names[min(1, len(names)):] {
		if !strings.HasPrefix(name, " ") {
			return false
		}
	}
	return len(names) > 1
}

// separatorOf returns the separator of a table by its first lines: the one with which there is a header that has the needed columns, or which
// most rows have equally often; or a comma.
func separatorOf(first []textLine, cols Columns) string {
	best, most, isOne := ",", 0, false
	for _, sep := range separators {
		rows, _ := sampleOf(first, dialect{separator: sep, isTSV: sep == "\t"})
		if len(rows) == 0 {
			continue
		}
		if at, err := findHeader(rows, cols); err == nil && !cols.NoHeader && !cols.IsRecord {
			if len(rows[at]) > 1 {
				return sep
			}
			isOne = true
		}
		if n := evenRows(rows); n > most {
			best, most = sep, n
		}
	}
	if isOne { // the header has one column
		return ","
	}
	return best
}

// evenRows returns how many rows have as many cells as most rows have, if these are several, times these.
func evenRows(rows [][]string) (n int) {
	count := map[int]int{}
	for _, row := range rows {
		if cells := len(row); cells > 1 {
			count[cells]++
			n = max(n, count[cells]*cells)
		}
	}
	return n
}

// aboveHeader reads a row up to the header.
func aboveHeader(r *csvReader) (record, error) {
	row, err := r.read()
	switch {
	case err == nil:
		return row, nil
	case err == io.EOF:
		return row, fmt.Errorf("%s:%d: the file has no header", r.of.Path, max(1, r.lines.Line))
	case isLineError(err) || err == errQuote:
		return row, fmt.Errorf("%s:%d: %w", r.of.Path, max(1, row.line), err)
	}
	return row, fmt.Errorf("%s:%d: %w", r.of.Path, max(1, r.lines.Line), err)
}
