package main

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// A source is one input file. Its path is "-" for standard input, which is read
// from a copy if it is needed twice.
type source struct {
	path   string
	copy   string
	format string // jsonl, csv, txt or lines
	info   fs.FileInfo
}

// A place is where a document stands: a source and a line in it.
type place struct{ source, line int32 }

// An item is one document as it stands in its source, not yet parsed, or an
// error in its place.
type item struct {
	place
	raw    []byte   // a line of JSON, a line of text, a whole text
	row    []string // a row of CSV
	header *header  // of CSV
	err    error
}

// A header says in which columns of a CSV file the fields are; title is −1 if
// there is none.
type header struct {
	names           []string
	id, text, title int
}

// Columns are the names of the fields of a document.
type columns struct{ id, text, title string }

// findSources turns the arguments into files, directories into all their files
// of known formats in lexical order.
func findSources(args []string, format string) ([]source, error) {
	var sources []source
	add := func(path, format string, info fs.FileInfo) {
		sources = append(sources, source{path: path, format: format, info: info})
	}
	for _, arg := range args {
		if arg == "-" {
			f := format
			if f == "" {
				f = "jsonl"
			}
			add(arg, f, nil)
			continue
		}
		info, err := os.Stat(arg)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			f := formatOf(arg, format)
			if f == "" {
				return nil, fmt.Errorf("%s: not a .jsonl, .csv or .txt file; say what it is with -format", arg)
			}
			add(arg, f, info)
			continue
		}
		before := len(sources)
		err = filepath.WalkDir(arg, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			if formatOf(path, "") == "" {
				return nil
			}
			info, err := os.Stat(path)
			if err == nil && info.Mode().IsRegular() {
				add(path, formatOf(path, format), info)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		if len(sources) == before {
			return nil, fmt.Errorf("%s: no .jsonl, .csv or .txt files in this directory", arg)
		}
	}
	return sources, nil
}

// formatOf returns the format of a file by its name, or as told.
func formatOf(path, told string) string {
	if told != "" {
		return told
	}
	name := strings.ToLower(path)
	name = strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), ".zst")
	switch filepath.Ext(name) {
	case ".jsonl", ".ndjson":
		return "jsonl"
	case ".csv":
		return "csv"
	case ".txt":
		return "txt"
	}
	return ""
}

// open opens a source and undoes gzip and zstd. progress sees the bytes as they
// are on disk.
func (s *source) open(stdin io.Reader, progress io.Writer) (io.Reader, func(), error) {
	r, closeFile := stdin, func() {}
	path := s.path
	if s.copy != "" {
		path = s.copy
	}
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, nil, err
		}
		r, closeFile = f, func() { f.Close() }
	}
	b := bufio.NewReaderSize(io.TeeReader(r, progress), 1<<18)
	magic, err := b.Peek(4) // an error shows again when reading
	switch {
	case bytes.HasPrefix(magic, []byte{0x1F, 0x8B}) || strings.HasSuffix(s.path, ".gz"):
		z, err := gzip.NewReader(b)
		if err != nil {
			closeFile()
			return nil, nil, fmt.Errorf("%s: gzip: %w", s.path, err)
		}
		return z, closeFile, nil
	case bytes.Equal(magic, []byte{0x28, 0xB5, 0x2F, 0xFD}) || strings.HasSuffix(s.path, ".zst"):
		z, err := zstd.NewReader(b, zstd.WithDecoderConcurrency(1))
		if err != nil {
			closeFile()
			return nil, nil, fmt.Errorf("%s: zstd: %w", s.path, err)
		}
		return z, func() { z.Close(); closeFile() }, nil
	case err != nil && err != io.EOF:
		closeFile()
		return nil, nil, fmt.Errorf("%s: %w", s.path, err)
	}
	return b, closeFile, nil
}

// errTooLong is the error of a line beyond the limit.
var errTooLong = errors.New("longer than -max-line")

// A lineReader reads lines of bounded length and counts them.
type lineReader struct {
	r    *bufio.Reader
	max  int
	line int32 // of the line last read, from 1
}

// next returns the next line without its end, or errTooLong, after which the
// following line can be read, or another error. A byte order mark before the
// first line is dropped.
func (l *lineReader) next() ([]byte, error) {
	var line []byte
	tooLong := false
	for {
		part, err := l.r.ReadSlice('\n')
		if len(line)+len(part) > l.max+1 {
			tooLong, line = true, nil
		}
		if !tooLong {
			line = append(line, part...)
		}
		if err == bufio.ErrBufferFull {
			continue
		}
		if err != nil && (err != io.EOF || len(part) == 0 && len(line) == 0 && !tooLong) {
			return nil, err
		}
		break
	}
	l.line++
	if tooLong {
		return nil, errTooLong
	}
	line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
	if l.line == 1 {
		line = bytes.TrimPrefix(line, []byte("\ufeff"))
	}
	return line, nil
}

// read yields the items of a source in order. It returns an error if the rest of
// the source cannot be read; yield returns false to stop.
func (s *source) read(n int, r io.Reader, cols columns, maxLine int, yield func(item) bool) error {
	lines := &lineReader{r: bufio.NewReaderSize(r, 1<<18), max: maxLine}
	at := func(line int32) item { return item{place: place{int32(n), line}} }
	switch s.format {
	case "csv":
		return s.readCSV(lines, at, cols, yield)
	case "txt":
		it := at(1)
		text, err := io.ReadAll(r)
		if err != nil {
			return fmt.Errorf("%s: %w", s.path, err)
		}
		it.raw = bytes.TrimPrefix(text, []byte("\ufeff"))
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
		it.raw, it.err = line, err
		if err == nil && len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if !yield(it) {
			return nil
		}
	}
}

// feeder hands lines to a CSV reader one by one, and refuses to go on when a
// record takes too many bytes.
type feeder struct {
	lines *lineReader
	rest  []byte
	left  int
	bad   func(line int32) // told of lines that are too long
}

func (f *feeder) Read(p []byte) (int, error) {
	for len(f.rest) == 0 {
		line, err := f.lines.next()
		if err == errTooLong {
			f.bad(f.lines.line)
			f.rest = []byte("\n") // keeps the line numbers right
			break
		}
		if err != nil {
			return 0, err
		}
		f.rest = append(line, '\n')
	}
	n := copy(p, f.rest)
	if f.left -= n; f.left < 0 {
		return 0, fmt.Errorf("a record %w; is a quote not closed?", errTooLong)
	}
	f.rest = f.rest[n:]
	return n, nil
}

func (s *source) readCSV(lines *lineReader, at func(int32) item, cols columns, yield func(item) bool) error {
	stop := false
	feed := &feeder{lines: lines, bad: func(line int32) {
		it := at(line)
		it.err = errTooLong
		stop = stop || !yield(it)
	}}
	r := csv.NewReader(feed)
	limit := 2*lines.max + 1<<16 // what is read ahead counts too
	feed.left = limit
	names, err := r.Read()
	if err == io.EOF {
		return fmt.Errorf("%s:1: no header", s.path)
	}
	if err != nil {
		return s.csvError(err, lines)
	}
	h := &header{names: names, id: -1, text: -1, title: -1}
	for i, name := range names {
		for _, c := range []struct {
			name string
			at   *int
		}{{cols.id, &h.id}, {cols.text, &h.text}, {cols.title, &h.title}} {
			if name == c.name {
				if *c.at >= 0 {
					return fmt.Errorf("%s:1: two columns are named %q", s.path, name)
				}
				*c.at = i
			}
		}
	}
	for name, i := range map[string]int{cols.id: h.id, cols.text: h.text} {
		if i < 0 {
			return fmt.Errorf("%s:1: no column %q among %q; -id and -text name the columns", s.path, name, names)
		}
	}
	for !stop {
		feed.left = limit
		row, err := r.Read()
		if err == io.EOF {
			return nil
		}
		it := at(0)
		if err != nil {
			var parse *csv.ParseError
			if !errors.As(err, &parse) || errors.Is(err, errTooLong) {
				return s.csvError(err, lines)
			}
			it.line, it.err = int32(parse.StartLine), parse.Err
		} else {
			line, _ := r.FieldPos(0)
			it.line, it.row, it.header = int32(line), row, h
		}
		if !yield(it) {
			return nil
		}
	}
	return nil
}

func (s *source) csvError(err error, lines *lineReader) error {
	var parse *csv.ParseError
	if errors.As(err, &parse) {
		return fmt.Errorf("%s:%d: %w", s.path, parse.StartLine, parse.Err)
	}
	return fmt.Errorf("%s:%d: %w", s.path, max(1, lines.line), err)
}

// A document is a parsed item.
type document struct{ id, title, text string }

// parse makes a document of an item, or says what is wrong with it.
func (it *item) parse(s *source, cols columns) (document, error) {
	var d document
	switch {
	case it.err != nil:
		return d, it.err
	case it.row != nil:
		d.id, d.text = it.row[it.header.id], it.row[it.header.text]
		if it.header.title >= 0 {
			d.title = it.row[it.header.title]
		}
	case s.format == "txt":
		d.id, d.text = s.path, string(it.raw)
	case s.format == "lines":
		d.id, d.text = fmt.Sprintf("%s:%d", s.path, it.line), string(it.raw)
	default:
		if err := d.fromJSON(it.raw, cols); err != nil {
			return d, err
		}
	}
	if d.id == "" {
		return d, errors.New("empty id")
	}
	return d, nil
}

func (d *document) fromJSON(line []byte, cols columns) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(line, &fields); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return fmt.Errorf("not JSON: %w at byte %d", err, syntax.Offset)
		}
		return fmt.Errorf("not a JSON object: %w", err)
	}
	if fields == nil {
		return errors.New("not a JSON object: null")
	}
	id := fields[cols.id]
	if len(id) > 0 && (id[0] == '-' || id[0] >= '0' && id[0] <= '9') { // a number, as it is written
		d.id = string(id)
	} else if err := stringField(fields, cols.id, true, &d.id); err != nil {
		return err
	}
	if err := stringField(fields, cols.text, true, &d.text); err != nil {
		return err
	}
	return stringField(fields, cols.title, false, &d.title)
}

func stringField(fields map[string]json.RawMessage, name string, must bool, to *string) error {
	raw, ok := fields[name]
	if !ok || string(raw) == "null" {
		if must {
			return fmt.Errorf("no %q", name)
		}
		return nil
	}
	if err := json.Unmarshal(raw, to); err != nil {
		return fmt.Errorf("%q is not a string", name)
	}
	return nil
}
