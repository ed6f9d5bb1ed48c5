package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"

	"github.com/neardup/neardup/cmd/neardup/internal/cli"
	"github.com/neardup/neardup/cmd/neardup/rows"
)

// This file reads items from the input files: lines of JSON or text, rows of tables, or whole files. Every item knows its file and line, so that
// errors can name them. An item that cannot be read carries an error instead of data, and reading goes on behind it where possible.

// A source is one input file; the path of standard input is "-". A source that cannot be read
// twice, but has to be, is copied first (copy).
type source struct {
	path    string
	format  string // one of formats
	info    fs.FileInfo
	copy    *os.File
	header  *header  // of a table, once it was read
	hasMark bool     // it begins with a byte order mark of UTF-8
	decoded bool     // it is in another encoding, so places in it are not places in the file
	notes   []string // what the user should know about how it was read
	err     error    // why the source cannot be read; nil if it can
}

// regular reports whether the source is an ordinary file.
func (s *source) regular() bool { return s.info != nil && s.info.Mode().IsRegular() }

// note adds something that the user should know, once.
func (s *source) note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(s.notes, text) {
		s.notes = append(s.notes, text)
	}
}

// A place says where a document is: the number of its source, and the line in it, or the row.
type place struct{ source, line int32 }

// noPlace is that of a document of an earlier call, which is in no source.
var noPlace = place{source: -1}

// An item is one document of a source before it is parsed, or the error that stands in its place.
type item struct {
	place
	raw []byte   // a value of JSON, a line of text, or a whole text
	row []string // a row of a table; source.header says what its columns are

	values  []rows.Value // the same with types, if they are asked for; source.header.fields says what they are
	parquet parquet.Row  // the same of a Parquet file
	group   int32        // and the row group that it is in, from 1

	old *saved // a saved fingerprint
	err error

	block  *[]byte // what raw is a part of; nil if nothing else is
	offset int64   // where the line begins in the source, or in what is decompressed from it
}

// columns says how documents are read, as the flags give it: the names of their fields, and what else the
// formats need.
type columns struct {
	id, text, title, metadata string
	idGiven                   bool   // or else a document without an id is known by its place,
	withoutID                 string // line, or by its text, hash
	encoding                  string // "" to find out
	separator                 rune   // of a table; 0 to find out
	sheet                     string // of a workbook; "" for the first one
	headerRow                 int    // of a workbook; 0 for the first row that is not empty
	isRecord                  bool   // documents are records, which have no text
	all                       bool   // all columns of a row are needed, not only those of the document
	typed                     bool   // with their types
}

// texts returns the fields that make the text.
func (c *columns) texts() []string {
	names := strings.Split(c.text, ",")
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	return names
}

// formats has the formats, and the ends of the names of their files.
var formats = []struct {
	name, ends string
	isTable    bool
}{
	{"jsonl", ".jsonl .ndjson", false},
	{"json", ".json", false},
	{"csv", ".csv", true},
	{"tsv", ".tsv .tab", true},
	{"xlsx", ".xlsx .xlsm", true},
	{"parquet", ".parquet .pq", true},
	{"txt", ".txt .text .md .markdown .rst", false},
	{"html", ".html .htm .xhtml", false},
	{"lines", "", false},
}

// isTable reports whether a format has rows and columns.
func isTable(format string) bool {
	for _, f := range formats {
		if f.name == format {
			return f.isTable
		}
	}
	return false
}

// compressions are the ends of the names of compressed files.
var compressions = []string{".gz", ".zst", ".xz", ".bz2"}

// open opens a source and decompresses it. The bytes as they are on disk are also written to
// progress. The caller calls the returned function when it has finished reading.
func (s *source) open(stdin io.Reader, progress io.Writer) (io.Reader, func(), error) {
	r, closeFile := stdin, func() {}
	switch {
	case s.err != nil:
		return nil, nil, s.err
	case s.copy != nil:
		r = io.NewSectionReader(s.copy, 0, 1<<62)
	case s.path != "-":
		f, err := os.Open(s.path)
		if err != nil {
			return nil, nil, cli.InFile(s.path, err)
		}
		r, closeFile = f, func() { f.Close() }
	}
	plain, closePlain, err := cli.Decompress(io.TeeReader(r, progress), s.path)
	if err != nil {
		closeFile()
		return nil, nil, err
	}
	return plain, func() { closePlain(); closeFile() }, nil
}

// beginning returns the beginning of the text at an offset, or "" if that cannot be read without reading all
// that is before it.
func (s *source) beginning(offset int64, cols columns) string {
	if !s.regular() || s.decoded || s.format != "jsonl" && s.format != "lines" && s.format != "txt" {
		return ""
	}
	f, err := os.Open(s.path)
	if err != nil {
		return ""
	}
	defer f.Close()
	r, finish, err := cli.Decompress(f, s.path)
	if err != nil {
		return ""
	}
	finish()
	if _, isPlain := r.(*bufio.Reader); !isPlain {
		return ""
	}
	if _, err := f.Seek(offset, io.SeekStart); err != nil {
		return ""
	}
	text := ""
	one := source{path: s.path, format: s.format}
	one.read(0, io.LimitReader(f, 1<<20), cols, 1<<20, func(it item) bool {
		if d, err := it.parse(&one, cols, &decoder{}); err == nil {
			text = strings.Clone(d.whole())
		}
		return false
	})
	return text
}

// read yields the items of a source in order, until yield returns false. It returns an error if the
// rest of the source cannot be read.
func (s *source) read(n int, r io.Reader, cols columns, maxLine int, yield func(item) bool) error {
	at := func(line int32) item { return item{place: place{int32(n), line}} }
	switch s.format {
	case "xlsx":
		return s.readSheet(r, at, cols, yield)
	case "parquet":
		return s.readParquet(r, at, cols, yield)
	}
	buffered, ok := r.(*bufio.Reader)
	if !ok || buffered.Size() < sniffBytes {
		buffered = bufio.NewReaderSize(r, sniffBytes)
	}
	plain, encoding, hasMark, err := decoded(buffered, cols.encoding)
	s.hasMark = hasMark
	if err != nil {
		return fmt.Errorf("%s:1: %w", s.path, err)
	}
	if encoding != "" {
		s.decoded = true
		s.note("read as %s", encoding)
	}
	lines := &lineReader{r: plain, max: maxLine}
	switch s.format {
	case "csv", "tsv":
		return s.readCSV(lines, at, cols, yield)
	case "json":
		return s.readJSON(plain, at, maxLine, yield)
	case "txt", "html":
		it := at(1)
		text, err := io.ReadAll(io.LimitReader(plain, int64(maxLine)+8))
		if err != nil {
			return fmt.Errorf("%s:1: %w", s.path, err)
		}
		if it.raw = text; len(it.raw) > maxLine {
			it.raw, it.err = nil, errTooLong
		}
		yield(it)
		return nil
	}
	for {
		line, err := lines.next()
		if err == io.EOF {
			return nil
		}
		if err != nil && err != errTooLong {
			return fmt.Errorf("%s:%d: %w", s.path, lines.line+1, err)
		}
		it := at(lines.line)
		it.raw, it.err, it.block, it.offset = line, err, lines.block, lines.begin
		if err == nil && len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if !yield(it) {
			return nil
		}
	}
}

// file returns a source for formats that are not read from the beginning to the end. r is what the caller reads
// otherwise. done removes what was made.
func (s *source) file(r io.Reader) (f *os.File, size int64, done func(), err error) {
	for _, end := range compressions {
		if strings.HasSuffix(strings.ToLower(s.path), end) {
			return nil, 0, nil, fmt.Errorf("%s:1: this format is compressed in itself; decompress the file first", s.path)
		}
	}
	switch {
	case s.copy != nil:
		info, err := s.copy.Stat()
		if err != nil {
			return nil, 0, nil, err
		}
		return s.copy, info.Size(), func() {}, nil
	case s.regular():
		if f, err = os.Open(s.path); err != nil {
			return nil, 0, nil, cli.InFile(s.path, err)
		}
		return f, s.info.Size(), func() { f.Close() }, nil
	}
	if f, err = temporaryCopy(r); err == nil {
		size, err = f.Seek(0, io.SeekCurrent)
	}
	if err != nil {
		return nil, 0, nil, fmt.Errorf("%s:1: %w", s.path, err)
	}
	return f, size, func() { f.Close() }, nil
}

// temporaryCopy returns a file with what r has, at its end. It has no name, so it vanishes when it is closed.
func temporaryCopy(r io.Reader) (*os.File, error) {
	f, err := os.CreateTemp("", "neardup-input-*")
	if err != nil {
		return nil, err
	}
	os.Remove(f.Name()) // the file stays as long as it is open
	if _, err := io.Copy(f, r); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
