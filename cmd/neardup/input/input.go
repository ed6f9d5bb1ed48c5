package input

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/neardup/neardup/cmd/neardup/cli"
	"github.com/neardup/neardup/cmd/neardup/parquet"
	"github.com/neardup/neardup/cmd/neardup/rows"
)

// This file has the sources and their items: lines of JSON or text, rows of tables, or whole files. Every item knows its file and line, so that
// errors can name them. An item that cannot be read carries an error instead of data, and reading goes on behind it where possible.

// A Source is one input file; the path of standard input is "-". A source that cannot be read
// twice, but has to be, is copied first (Copy).
type Source struct {
	Path     string
	Format   string // one of Formats
	Info     fs.FileInfo
	Copy     *os.File
	Header   *Header   // of a table, once it was read
	HasMark  bool      // it begins with a byte order mark of UTF-8
	Encoding *Encoding // nil if it is UTF-8. Otherwise places in it are not places in the file
	Room     int64     // how many bytes a decoder may take that decompresses it
	Notes    []string  // what the user should know about how it was read
	Err      error     // why the source cannot be read; nil if it can
}

// Regular reports whether the source is an ordinary file.
func (s *Source) Regular() bool { return s.Info != nil && s.Info.Mode().IsRegular() }

// Note adds something that the user should know, once.
func (s *Source) Note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(s.Notes, text) {
		s.Notes = append(s.Notes, text)
	}
}

// A Place says where a document is: the number of its source, and the line in it, or the row.
type Place struct{ Source, Line int32 }

// NoPlace is that of a document of an earlier call, which is in no source.
var NoPlace = Place{Source: -1}

// An Item is one document of a source before it is parsed, or the error that stands in its place.
type Item struct {
	Place
	Raw   []byte   // a value of JSON, a line of text, or a whole text
	Bytes []byte   // a line or a row of a table of text as the source has it, with its line end; nil if that is not kept
	Row   []string // a row of a table; source.Header says what its columns are

	values  []rows.Value     // the same with types, if they are asked for; source.Header.Fields says what they are
	Parquet [][]parquet.Cell // the same of a Parquet file, by column
	Group   int32            // and the row group that it is in, from 1

	Saved any // what a file of saved fingerprints has of the document
	Err   error

	changed rows.Struct // the fields after SetText
	isLossy bool        // some bytes could not be decoded

	Offset int64 // where the line begins in the source, or in what is decompressed from it
}

// IsUTF8 reports whether all bytes of a line, or of a row, are of the encoding of their source. Values of other formats are not looked at.
func (it *Item) IsUTF8() bool {
	return !it.isLossy && utf8.Valid(it.Raw) && !slices.ContainsFunc(it.Row, func(v string) bool { return !utf8.ValidString(v) })
}

// Columns says how documents are read, as the flags give it: the names of their fields, and what else the
// formats need.
type Columns struct {
	ID, Text, Title, Metadata string
	IDGiven                   bool   // or else a document without an id is known by its place,
	WithoutID                 string // line, or by its text, hash
	Encoding                  string // "" to detect it
	Layout
	IsRecord bool  // documents are records, which have no text
	All      bool  // all columns of a row are needed, not only those of the document
	Typed    bool  // with their types
	Room     int64 // how many bytes a reader may take for what a file says about itself
}

// Layout says how a table of text or a workbook is written.
type Layout struct {
	Separator rune   // of a table of text; 0 to detect it
	Sheet     string // of a workbook; "" for the first one
	HeaderRow int    // 0 to detect it
	NoHeader  bool   // the first row is data
}

// Texts returns the fields that make the text.
func (c *Columns) Texts() []string {
	names := strings.Split(c.Text, ",")
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	return names
}

// textNames returns the fields of the text: those that the user gave, or those of a chat. isThere says that there is a field with the
// whole name, which may have commas in it.
func (c *Columns) textNames(isThere bool, has func(name string) bool) (names []string, isChat bool) {
	if isThere {
		return []string{c.Text}, false
	}
	if c.Text == defaultText {
		if chat := chatFields(has); chat != nil {
			return chat, true
		}
	}
	return c.Texts(), false
}

// Formats has the formats, and the ends of the names of their files.
var Formats = []struct {
	Name, ends string
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
	{"warc", ".warc .wet .arc", false},
	{"arrow", ".arrow .feather .ipc", true},
	{"lines", "", false},
}

// IsTable reports whether a format has rows and columns.
func IsTable(format string) bool {
	for _, f := range Formats {
		if f.Name == format {
			return f.isTable
		}
	}
	return false
}

// compressions are the ends of the names of compressed files.
var compressions = []string{".gz", ".zst", ".xz", ".bz2"}

// Open opens a source and decompresses it. The bytes as they are on disk are also written to
// progress. The caller calls the returned function when it has finished reading.
func (s *Source) Open(stdin io.Reader, progress io.Writer) (io.Reader, func(), error) {
	r, closeFile := stdin, func() {}
	var of *plainFile // if it is one
	switch {
	case s.Err != nil:
		return nil, nil, s.Err
	case s.Copy != nil:
		r = io.NewSectionReader(s.Copy, 0, 1<<62)
	case s.Path != "-":
		f, err := os.Open(s.Path)
		if err != nil {
			return nil, nil, cli.InFile(s.Path, err)
		}
		r, closeFile = f, func() { f.Close() }
		if s.Regular() {
			of = &plainFile{file: f, size: s.Info.Size(), forgets: s.Info.Size() > mostCached, progress: progress}
			closeFile = of.close
		}
		if of != nil && of.forgets {
			r = &streamed{file: f}
		}
	}
	plain, closePlain, err := cli.Decompress(io.TeeReader(r, progress), s.Path, s.Room)
	if err != nil {
		closeFile()
		return nil, nil, err
	}
	if buffered, isPlain := plain.(*bufio.Reader); isPlain && of != nil {
		of.Reader, plain = buffered, of
	}
	return plain, func() { closePlain(); closeFile() }, nil
}

// A streamed file is read from its beginning, and does not stay in the memory of the system: a file of more than mostCached bytes
// would push out what the program writes to temporary files meanwhile, and reads again.
type streamed struct {
	file      *os.File
	at, since int64 // how much was read, and how much of it the system was told of
}

const (
	mostCached = 1 << 32 // so many fit beside what a call needs on a usual machine
	forgetEach = 1 << 23 // so seldom that it costs nothing
)

func (p *streamed) Read(b []byte) (n int, err error) {
	n, err = p.file.Read(b)
	if p.at += int64(n); p.at-p.since >= forgetEach {
		forget(p.file, p.since, p.at-p.since)
		p.since = p.at
	}
	return n, err
}

// Beginning returns the beginning of the text at an offset, or "" if that cannot be read without reading all
// that is before it.
func (s *Source) Beginning(offset int64, cols Columns) string {
	if !s.Regular() || s.Encoding != nil || s.Format != "jsonl" && s.Format != "lines" && s.Format != "txt" {
		return ""
	}
	f, err := os.Open(s.Path)
	if err != nil {
		return ""
	}
	defer f.Close()
	r, finish, err := cli.Decompress(f, s.Path, s.Room)
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
	one := Source{Path: s.Path, Format: s.Format}
	one.Read(0, io.LimitReader(f, 1<<20), cols, 1<<20, func(it Item) bool {
		if d, err := it.Parse(&one, cols, &Decoder{}); err == nil {
			text = strings.Clone(d.Whole())
		}
		return false
	})
	return text
}

// Read yields the items of a source in order, until yield returns false. It returns an error if the
// rest of the source cannot be read.
func (s *Source) Read(n int, r io.Reader, cols Columns, maxLine int, yield func(Item) bool) error {
	cols.Room = cmp.Or(cols.Room, 1<<30)
	of := &reader{s, int32(n), cols, maxLine, yield}
	switch s.Format {
	case "xlsx":
		return of.readSheet(r)
	case "parquet":
		return of.readParquet(r)
	case "arrow":
		return of.readArrow(r)
	case "warc":
		return of.readWARC(r)
	case "json", "txt", "html":
		plain, err := s.decode(r, cols)
		if err != nil {
			return err
		}
		if s.Format == "json" {
			return of.readJSON(plain)
		}
		return of.readWhole(plain)
	}
	lines, err := s.readerOfLines(r, cols, maxLine)
	if err != nil {
		return err
	}
	if s.Format == "csv" || s.Format == "tsv" {
		return of.readCSV(lines)
	}
	return s.readLines(lines, n, yield)
}

// A reader reads the items of a source once.
type reader struct {
	*Source
	number  int32 // of the source
	cols    Columns
	maxLine int
	yield   func(Item) bool // whether more items are wanted
}

// at returns the item in a line, or in what counts as one, without what is in it.
func (s *reader) at(line int32) Item { return Item{Place: Place{s.number, line}} }

// decode returns a reader of text as UTF-8, and notes what it was.
func (s *Source) decode(r io.Reader, cols Columns) (io.Reader, error) {
	buffered := sniffed(r)
	told := cols.Encoding
	if told == "" && s.Format == "html" {
		sample, _ := buffered.Peek(sniffBytes)
		told = htmlEncoding(sample)
	}
	plain, e, hasMark, err := decoded(buffered, told)
	s.HasMark = hasMark
	if err != nil {
		return nil, fmt.Errorf("%s:1: %w", s.Path, err)
	}
	s.use(e)
	return plain, nil
}

// sniffed returns a reader that can be looked into.
func sniffed(r io.Reader) *bufio.Reader {
	if of, ok := r.(*plainFile); ok {
		r = of.Reader
	}
	buffered, ok := r.(*bufio.Reader)
	if !ok || buffered.Size() < sniffBytes {
		buffered = bufio.NewReaderSize(r, sniffBytes)
	}
	return buffered
}

// readerOfLines returns a reader of lines as UTF-8. They are decoded one by one, if the encoding allows it, so that what they were is kept.
func (s *Source) readerOfLines(r io.Reader, cols Columns, maxLine int) (*LineReader, error) {
	buffered := sniffed(r)
	sample, _ := buffered.Peek(sniffBytes)
	var e *Encoding
	var isOpen bool
	var err error
	if cols.Encoding != "" {
		e, err = encodingOf(cols.Encoding)
	} else {
		e, isOpen, err = encodingIn(sample)
	}
	if err != nil {
		return nil, fmt.Errorf("%s:1: %w", s.Path, err)
	}
	lines := &LineReader{R: buffered, Max: maxLine}
	if of, ok := r.(*plainFile); ok {
		lines.file, of.sniffed = of, buffered
	}
	switch {
	case isOpen:
		lines.decode = &lineDecoder{s: s, isOpen: true}
	case e != nil && e.byLine:
		s.use(e)
		lines.decode = &lineDecoder{s: s, isTold: cols.Encoding != "", decoder: e.of.NewDecoder()}
	default:
		lines.R, err = s.decode(buffered, cols)
		if lines.isWhole = s.Encoding != nil; lines.R != buffered {
			lines.file = nil
		}
	}
	return lines, err
}

// readWhole yields the whole text of a file.
func (s *reader) readWhole(plain io.Reader) error {
	text, err := io.ReadAll(io.LimitReader(plain, int64(s.maxLine)+8))
	if err != nil {
		return fmt.Errorf("%s:1: %w", s.Path, err)
	}
	it := s.at(1)
	if it.Raw = text; len(it.Raw) > s.maxLine {
		it.Raw, it.Err = nil, ErrTooLong
	}
	it.isLossy = s.Encoding != nil && hasReplaced(it.Raw)
	s.yield(it)
	return nil
}

// file returns a source for formats that are not read from the beginning to the end. r is what the caller reads
// otherwise. done removes what was made.
func (s *Source) file(r io.Reader) (f *os.File, size int64, done func(), err error) {
	for _, end := range compressions {
		if strings.HasSuffix(strings.ToLower(s.Path), end) {
			return nil, 0, nil, fmt.Errorf("%s:1: this format has its own compression; decompress the file first", s.Path)
		}
	}
	switch {
	case s.Copy != nil:
		info, err := s.Copy.Stat()
		if err != nil {
			return nil, 0, nil, err
		}
		return s.Copy, info.Size(), func() {}, nil
	case s.Regular():
		if f, err = os.Open(s.Path); err != nil {
			return nil, 0, nil, cli.InFile(s.Path, err)
		}
		return f, s.Info.Size(), func() { f.Close() }, nil
	}
	if f, err = TemporaryCopy(r); err == nil {
		size, err = f.Seek(0, io.SeekCurrent)
	}
	if err != nil {
		return nil, 0, nil, fmt.Errorf("%s:1: %w", s.Path, err)
	}
	return f, size, func() { f.Close() }, nil
}

// Temporary returns a file without a name, so that it vanishes when it is closed.
func Temporary() (*os.File, error) {
	f, err := os.CreateTemp("", "neardup-*")
	if err == nil {
		os.Remove(f.Name()) // the file stays as long as it is open
	}
	return f, err
}

// TemporaryCopy returns a file without a name with what r has, at its end.
func TemporaryCopy(r io.Reader) (*os.File, error) {
	f, err := Temporary()
	if err != nil {
		return nil, err
	}
	if _, err := io.Copy(f, r); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// MetadataNames returns the names of the fields with metadata, in the order of the flag.
func (c *Columns) MetadataNames() []string {
	if c.Metadata == "" {
		return nil
	}
	names := strings.Split(c.Metadata, ",")
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	return names
}

// Repeat reports whether two fields have the same name.
func (c *Columns) Repeat() bool {
	names := append(c.MetadataNames(), c.Texts()...)
	for _, name := range []string{c.ID, c.Title} {
		if name != "" {
			names = append(names, name)
		}
	}
	n := len(names)
	slices.Sort(names)
	return len(slices.Compact(names)) < n
}

// IsCompressed reports whether the name says that a source is compressed.
func (s *Source) IsCompressed() bool {
	return slices.ContainsFunc(compressions, func(end string) bool { return strings.HasSuffix(strings.ToLower(s.Path), end) })
}

// Window returns how many bytes of what is compressed a decoder holds, as the file says at its beginning.
func (s *Source) Window() int64 {
	f, err := os.Open(s.Path)
	if err != nil {
		return 0
	}
	defer f.Close()
	return cli.Window(f)
}

// Sum returns the SHA-256 of a file, or "" for what is no file.
func (s *Source) Sum() (string, error) {
	if !s.Regular() {
		return "", nil
	}
	f, err := os.Open(s.Path)
	if err != nil {
		return "", cli.InFile(s.Path, err)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", cli.InFile(s.Path, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
