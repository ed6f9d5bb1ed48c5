package input

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// This file reads tables of text: CSV, and the like with other separators. A table has a header, which names its
// columns.

// A header says which columns of a table have the fields of a document.
type header struct {
	Names    []string
	Fields   []string // of an item with values; otherwise the same
	id       int      // -1: the place of a row is its id
	text     []int    // in the order of --text
	title    int      // -1 if there is none
	metadata []int    // in the order of columns.metadataNames

	Separator rune // of a table of text

	Sheet string // of a workbook
	Line  int32  // of the header in it

	Parquet *parquetHeader // nil if it is of another format
}

// HasTwins reports whether two columns have the same name.
func (h *header) HasTwins() bool {
	names := slices.Clone(h.Fields)
	slices.Sort(names)
	return len(slices.Compact(names)) < len(h.Fields)
}

// newHeader finds the columns of the fields.
func (s *Source) newHeader(names []string, cols Columns) (*header, error) {
	h := &header{Names: names, Fields: names, title: -1}
	find := func(name string) (at int, err error) {
		at = slices.Index(names, name)
		if at >= 0 && slices.Contains(names[at+1:], name) {
			return at, fmt.Errorf("%s:1: two columns have the name %q", s.Path, name)
		}
		return at, nil
	}
	must := func(name, flag string) (int, error) {
		at, err := find(name)
		if err == nil && at < 0 {
			err = fmt.Errorf("%s:1: there is no column %q among %q; set --%s", s.Path, name, names, flag)
		}
		return at, err
	}
	var err error
	if h.id, err = find(cols.ID); err == nil && h.id < 0 && cols.IDGiven {
		_, err = must(cols.ID, "id")
	}
	if err != nil {
		return nil, err
	}
	if cols.IsRecord {
		return h, nil
	}
	texts := cols.Texts()
	if slices.Contains(names, cols.Text) { // a name with a comma
		texts = []string{cols.Text}
	}
	for _, name := range texts {
		at, err := must(name, "text")
		if err != nil {
			return nil, err
		}
		h.text = append(h.text, at)
	}
	if h.title, err = find(cols.Title); err != nil {
		return nil, err
	}
	for _, name := range cols.MetadataNames() {
		at, err := must(name, "metadata")
		if err != nil {
			return nil, err
		}
		h.metadata = append(h.metadata, at)
	}
	return h, nil
}

// separators are those that are looked for, the most usual first.
const separators = ",;\t|"

// separatorOf returns the separator of a table by its first lines: the one that divides all of them into the same
// number of columns, and into the most; or a comma.
func separatorOf(sample string, whole bool) rune {
	best, most := ',', 1
	for _, sep := range separators {
		r := csv.NewReader(strings.NewReader(sample))
		r.Comma, r.FieldsPerRecord, r.ReuseRecord = sep, -1, true
		columns, rows := 0, 0
		for rows < 20 {
			row, err := r.Read()
			if err != nil {
				if err != io.EOF && rows == 0 {
					columns = 0
				}
				break
			}
			if !whole && int(r.InputOffset()) == len(sample) { // it may be cut off
				break
			}
			if rows++; rows == 1 {
				columns = len(row)
			} else if len(row) != columns {
				columns = 0
				break
			}
		}
		if columns > most {
			best, most = sep, columns
		}
	}
	return best
}

// A feeder passes lines to a CSV reader one by one. It returns an error when a record takes too
// many bytes, so that a quote that is never closed does not take the rest of the file into memory.
type feeder struct {
	lines *LineReader
	rest  []byte
	left  int
	start int32   // the line at which the record begins, or a line soon after
	long  []int32 // numbers of the lines that were too long; the CSV reader did not get them
}

func (f *feeder) Read(p []byte) (int, error) {
	for len(f.rest) == 0 {
		line, err := f.lines.Next()
		if err == ErrTooLong {
			f.long = append(f.long, f.lines.Line)
			f.rest = []byte("\n") // so that the line numbers stay right
			break
		}
		if err != nil {
			return 0, err
		}
		f.rest = append(line, '\n')
	}
	n := copy(p, f.rest)
	if f.left -= n; f.left < 0 {
		return 0, fmt.Errorf("the record that begins near line %d is %w; is a quote not closed?", f.start, ErrTooLong)
	}
	f.rest = f.rest[n:]
	return n, nil
}

// readCSV is read for tables of text.
func (s *Source) readCSV(lines *LineReader, at func(int32) Item, cols Columns, yield func(Item) bool) error {
	feed := &feeder{lines: lines, start: 1}
	r := csv.NewReader(feed)
	limit := 2*lines.Max + 1<<16 // the CSV reader also reads ahead
	feed.left = limit
	switch {
	case cols.Separator != 0:
		r.Comma = cols.Separator
	case s.Format == "tsv":
		r.Comma = '\t'
	default:
		lines.fill(0)
		r.Comma = separatorOf(string(lines.rest), lines.err == io.EOF)
		if r.Comma != ',' {
			s.Note("columns are separated by %q", r.Comma)
		}
	}
	names, err := r.Read()
	if err == io.EOF {
		return fmt.Errorf("%s:1: the file has no header", s.Path)
	}
	if err != nil {
		return s.csvError(err, lines)
	}
	if s.Header, err = s.newHeader(names, cols); err != nil {
		return err
	}
	s.Header.Separator = r.Comma
	for {
		feed.left, feed.start = limit, lines.Line
		row, err := r.Read()
		if err != nil && err != io.EOF {
			var parse *csv.ParseError
			if !errors.As(err, &parse) || errors.Is(err, ErrTooLong) {
				return s.csvError(err, lines)
			}
			it := at(int32(parse.StartLine))
			if it.Err = parse.Err; parse.Line > parse.StartLine {
				it.Err = fmt.Errorf("%w; lines %d to %d are lost", parse.Err, parse.StartLine, parse.Line)
			}
			if !yield(it) {
				return nil
			}
			continue
		}
		// A line that was too long spoils the record that it belongs to. Yield an error for it, and
		// drop the record.
		first, last := lines.Line+1, lines.Line+1
		if err == nil {
			line, _ := r.FieldPos(0)
			first = int32(line)
			last = first + int32(strings.Count(strings.Join(row, ""), "\n"))
		}
		spoilt := false
		for len(feed.long) > 0 && feed.long[0] <= last {
			it := at(feed.long[0])
			it.Err = ErrTooLong
			spoilt = spoilt || feed.long[0] >= first
			feed.long = feed.long[1:]
			if !yield(it) {
				return nil
			}
		}
		if err == io.EOF {
			return nil
		}
		if spoilt {
			continue
		}
		it := at(first)
		it.Row = row
		if !yield(it) {
			return nil
		}
	}
}

func (s *Source) csvError(err error, lines *LineReader) error {
	var parse *csv.ParseError
	if errors.As(err, &parse) {
		return fmt.Errorf("%s:%d: %w", s.Path, parse.StartLine, parse.Err)
	}
	return fmt.Errorf("%s:%d: %w", s.Path, max(1, lines.Line), err)
}
