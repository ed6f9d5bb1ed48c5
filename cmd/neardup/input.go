package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/neardup/neardup/cmd/neardup/internal/cli"
)

// This file finds the input files and reads items from them: lines of JSON or text, rows of CSV, or
// whole files. Every item knows its file and line, so that errors can name them. Lines have a limit
// (--max-line), so a file without line ends cannot fill the memory. An item that cannot be read
// carries an error instead of data, and reading goes on behind it where possible.

// A source is one input file; the path of standard input is "-". A source that cannot be read
// twice, but has to be, is copied first (copy).
type source struct {
	path   string
	format string // jsonl, csv, txt or lines
	info   fs.FileInfo
	copy   *os.File
	header *header // of a CSV file, once it was read
	err    error   // why the source cannot be read; nil if it can
}

// regular reports whether the source is an ordinary file.
func (s *source) regular() bool { return s.info != nil && s.info.Mode().IsRegular() }

// A place says where a document is: the number of its source, and the line in it.
type place struct{ source, line int32 }

// An item is one document of a source before it is parsed, or the error that stands in its place.
type item struct {
	place
	raw []byte   // a line of JSON, a line of text, or a whole text
	row []string // a row of CSV; source.header says what its columns are
	old *saved   // a saved fingerprint
	err error

	block  *[]byte // what raw is a part of; nil if nothing else is
	offset int64   // where the line begins in the source, or in what is decompressed from it
}

// A header says which columns of a CSV file have the fields. title is −1 if no column has a title.
type header struct {
	names           []string
	id, text, title int
	metadata        []int // in the order of columns.metadataNames
}

// columns has the names of the fields of a document, as the flags give them.
type columns struct{ id, text, title, metadata string }

// findSources returns the sources for the arguments. A directory becomes all its files with known
// formats, in lexical order. An argument that cannot be found or listed becomes a source with an
// error.
func findSources(args []string, format string) []source {
	var sources []source
	fail := func(path string, err error) {
		sources = append(sources, source{path: path, err: err})
	}
	for _, arg := range args {
		info, err := os.Stat(arg)
		switch f := formatOf(arg, format); {
		case arg == "-":
			sources = append(sources, source{path: arg, format: cmp.Or(format, "jsonl")})
		case err != nil:
			fail(arg, cli.InFile(arg, err))
		case info.IsDir():
			before := len(sources)
			root := strings.TrimRight(arg, "/") + "/" // so that WalkDir follows arg if it is a link
			filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
				f := formatOf(path, "")
				if err == nil && (d.IsDir() || f == "" || f == fingerprints) {
					return nil
				}
				if err == nil {
					info, err = os.Stat(path)
				}
				if err != nil {
					fail(path, cli.InFile(path, err))
				} else if info.Mode().IsRegular() {
					sources = append(sources, source{path: path, format: formatOf(path, format), info: info})
				}
				return nil
			})
			if len(sources) == before {
				fail(arg, fmt.Errorf("%s:1: this directory has no .jsonl, .csv or .txt files", arg))
			}
		case f == "":
			fail(arg, fmt.Errorf("%s:1: not a .jsonl, .csv or .txt file; give its format with --format", arg))
		default:
			sources = append(sources, source{path: arg, format: f, info: info})
		}
	}
	return sources
}

// fingerprints is the format of the files that --save writes.
const fingerprints = "fingerprints"

// formatOf returns the format of a file: fingerprints if its name says so, otherwise the format
// that the user told, otherwise what the name says. It returns "" if the name says nothing.
func formatOf(path, told string) string {
	name := strings.ToLower(path)
	name = strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), ".zst")
	switch ext := filepath.Ext(name); {
	case ext == ".fp":
		return fingerprints
	case told != "":
		return told
	}
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
	if !s.regular() || s.format == "csv" {
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

// errTooLong is the error of a line that is longer than --max-line.
var errTooLong = errors.New("longer than --max-line")

// A lineReader reads lines of limited length and counts them. It reads large blocks, of which lines are
// parts, so that lines are not copied.
type lineReader struct {
	r     io.Reader
	max   int
	line  int32   // number of the line that was read last, from 1
	block *[]byte // of which the line is a part
	rest  []byte  // of the block
	begin int64   // where the line begins
	end   int64   // and where the next one does
	err   error   // what r returned
}

const (
	blockSize = 1 << 18       // what is read at once
	blockRoom = 2 * blockSize // the length of a block, unless a line is longer
)

// blocks are those that nobody uses any more, of blockRoom bytes.
var blocks = sync.Pool{New: func() any { b := make([]byte, blockRoom); return &b }}

// next returns the next line without its line end. It drops a byte order mark before the first
// line. After errTooLong the caller may read on with the following line; after any other error it
// may not.
func (l *lineReader) next() ([]byte, error) {
	end, tooLong := 0, false // the first bytes of rest have no line end
	for {
		if i := bytes.IndexByte(l.rest[end:], '\n'); i >= 0 {
			end += i + 1
			break
		}
		end = len(l.rest)
		if l.err != nil && (l.err != io.EOF || end == 0 && !tooLong) {
			return nil, l.err
		}
		if l.err != nil {
			break
		}
		if end > l.max+8 { // + 8: the line end and the mark are cut off below
			tooLong = true
			l.end += int64(end)
			end = 0
		}
		l.fill(end)
	}
	line := l.rest[:end:end]
	l.rest = l.rest[end:]
	l.begin, l.end = l.end, l.end+int64(end)
	l.line++
	line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
	if l.line == 1 {
		line = bytes.TrimPrefix(line, []byte("\ufeff"))
	}
	if tooLong || len(line) > l.max {
		return nil, errTooLong
	}
	return line, nil
}

// fill begins a new block with the first n bytes of rest, and reads what follows.
func (l *lineReader) fill(n int) {
	block := new([]byte)
	if n <= blockRoom-blockSize {
		block = blocks.Get().(*[]byte)
	} else {
		*block = make([]byte, 2*n)
	}
	copy(*block, l.rest[:n])
	var read int
	read, l.err = io.ReadAtLeast(l.r, (*block)[n:], 1)
	l.block, l.rest = block, (*block)[:n+read]
}

// read yields the items of a source in order, until yield returns false. It returns an error if the
// rest of the source cannot be read.
func (s *source) read(n int, r io.Reader, cols columns, maxLine int, yield func(item) bool) error {
	lines := &lineReader{r: r, max: maxLine}
	at := func(line int32) item { return item{place: place{int32(n), line}} }
	switch s.format {
	case "csv":
		return s.readCSV(lines, at, cols, yield)
	case "txt":
		it := at(1)
		text, err := io.ReadAll(io.LimitReader(r, int64(maxLine)+8))
		if err != nil {
			return fmt.Errorf("%s:1: %w", s.path, err)
		}
		it.raw = bytes.TrimPrefix(text, []byte("\ufeff"))
		if len(it.raw) > maxLine {
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

// A feeder passes lines to a CSV reader one by one. It returns an error when a record takes too
// many bytes, so that a quote that is never closed does not take the rest of the file into memory.
type feeder struct {
	lines *lineReader
	rest  []byte
	left  int
	start int32   // the line at which the record begins, or a line soon after
	long  []int32 // numbers of the lines that were too long; the CSV reader did not get them
}

func (f *feeder) Read(p []byte) (int, error) {
	for len(f.rest) == 0 {
		line, err := f.lines.next()
		if err == errTooLong {
			f.long = append(f.long, f.lines.line)
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
		return 0, fmt.Errorf("the record that begins near line %d is %w; is a quote not closed? The rest of the file is not read", f.start, errTooLong)
	}
	f.rest = f.rest[n:]
	return n, nil
}

// readCSV is read for CSV files.
func (s *source) readCSV(lines *lineReader, at func(int32) item, cols columns, yield func(item) bool) error {
	feed := &feeder{lines: lines, start: 1}
	r := csv.NewReader(feed)
	limit := 2*lines.max + 1<<16 // the CSV reader also reads ahead
	feed.left = limit
	names, err := r.Read()
	if err == io.EOF {
		return fmt.Errorf("%s:1: the file has no header", s.path)
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
					return fmt.Errorf("%s:1: two columns have the name %q", s.path, name)
				}
				*c.at = i
			}
		}
	}
	for name, i := range map[string]int{cols.id: h.id, cols.text: h.text} {
		if i < 0 {
			return fmt.Errorf("%s:1: there is no column %q among %q; set --id and --text", s.path, name, names)
		}
	}
	for _, name := range cols.metadataNames() {
		i := slices.Index(names, name)
		if i < 0 {
			return fmt.Errorf("%s:1: there is no column %q among %q; set --metadata", s.path, name, names)
		}
		h.metadata = append(h.metadata, i)
	}
	s.header = h
	for {
		feed.left, feed.start = limit, lines.line
		row, err := r.Read()
		if err != nil && err != io.EOF {
			var parse *csv.ParseError
			if !errors.As(err, &parse) || errors.Is(err, errTooLong) {
				return s.csvError(err, lines)
			}
			it := at(int32(parse.StartLine))
			if it.err = parse.Err; parse.Line > parse.StartLine {
				it.err = fmt.Errorf("%w; lines %d to %d are lost", parse.Err, parse.StartLine, parse.Line)
			}
			if !yield(it) {
				return nil
			}
			continue
		}
		// A line that was too long spoils the record that it belongs to. Yield an error for it, and
		// drop the record.
		first, last := lines.line+1, lines.line+1
		if err == nil {
			line, _ := r.FieldPos(0)
			first = int32(line)
			last = first + int32(strings.Count(strings.Join(row, ""), "\n"))
		}
		spoilt := false
		for len(feed.long) > 0 && feed.long[0] <= last {
			it := at(feed.long[0])
			it.err = errTooLong
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
		it.row = row
		if !yield(it) {
			return nil
		}
	}
}

func (s *source) csvError(err error, lines *lineReader) error {
	var parse *csv.ParseError
	if errors.As(err, &parse) {
		return fmt.Errorf("%s:%d: %w", s.path, parse.StartLine, parse.Err)
	}
	return fmt.Errorf("%s:%d: %w", s.path, max(1, lines.line), err)
}
