package neardupbeam

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/valyala/fastjson"
)

// This file reads documents from files, of any file system that Beam has a driver for. cut.go cuts large files into
// parts, which are read on any workers. A document without an id, or with an empty one, is known by its path and line.
// What cannot be read is noted and passed over; a file that cannot be opened fails the pipeline.
//
// What is wrong with one line is common in a crawl, so it must not end a job of hours. A file that cannot
// be read is an error, since the runner can try again, and all of its documents would be missing otherwise.

// ReadOptions say what documents are in files. The zero value takes the fields "id" and "text".
type ReadOptions struct {
	ID string // the field or column of the id; "" means "id". Without it, the id is the path and the line

	// Text is the field or column of the text; "" means "text". Several, with commas between them, are the lines of one text, such
	// as title,keywords,text: those that a document does not have are skipped, and a list of texts has a line for each.
	Text string

	// Format is jsonl, parquet, lines (a document for each line) or text (a document for each file). "" goes by
	// the extension: .jsonl, .ndjson and .json are JSON lines, .parquet is Parquet, .txt is text.
	Format string
}

// The formats of files.
const (
	JSONLines = "jsonl"
	Parquet   = "parquet"
	Lines     = "lines"
	Text      = "text"
)

// texts returns the names of the fields with texts.
func (o ReadOptions) texts() []string { return strings.Split(or(o.Text, "text"), ",") }

// Check returns an error for an unknown format, and for names that are empty or repeated.
func (o ReadOptions) Check() error {
	names := o.texts()
	for i, name := range names {
		if name == "" || strings.TrimSpace(name) != name || slices.Contains(names[:i], name) {
			return fmt.Errorf("neardupbeam: texts of the fields %q: names must be different, and separated by single commas without white space", o.Text)
		}
	}
	switch o.Format {
	case "", JSONLines, Parquet, Lines, Text:
		return nil
	}
	return fmt.Errorf("neardupbeam: format %q: must be jsonl, parquet, lines or text", o.Format)
}

// Read reads the files that match patterns, as a PCollection<Document>, with a PCollection<Note> of what was skipped.
// Names that end in .gz, .zst or .bz2 are compressed. A pattern that matches no file fails the
// pipeline. Read panics if the options do not pass [ReadOptions.Check].
func Read(s beam.Scope, patterns []string, o ReadOptions) (documents, notes beam.PCollection) {
	if err := o.Check(); err != nil {
		panic(err)
	}
	return read(s, patterns, o, partSize)
}

// read is Read with another size of parts, for tests.
func read(s beam.Scope, patterns []string, o ReadOptions, size int64) (documents, notes beam.PCollection) {
	s = s.Scope("neardup.Read")
	files := beam.ParDo(s, &matchFn{}, beam.CreateList(s, patterns))
	parts := beam.ParDo(s, &cutFn{o, size}, beam.GroupByKey(s, files)) // several patterns may match a file
	// Without Reshuffle, a runner would fuse cutting and reading into one step, and all parts of a file
	// would be read where it was cut (see Optimization in the documentation of beam.ParDo).
	return beam.ParDo2(s, &readFn{o}, beam.Reshuffle(s, parts))
}

// format is the format of a file, and how it is packed: gz, zst, bz2 or "". Upper and lower case of the
// extension do not matter.
func (o ReadOptions) format(name string) (format, packed string) {
	name = strings.ToLower(name)
	switch end := path.Ext(name); end {
	case ".gz", ".zst", ".bz2":
		packed = end[1:]
		name = strings.TrimSuffix(name, end)
	}
	if o.Format != "" {
		return o.Format, packed
	}
	switch path.Ext(name) {
	case ".jsonl", ".ndjson", ".json":
		format = JSONLines
	case ".parquet":
		format = Parquet
	case ".txt":
		format = Text
	}
	return format, packed
}

// readFn reads the documents of a part of a file.
type readFn struct{ ReadOptions }

// mostLine is the longest line that is read, in bytes. Without a limit, a file without ends of lines would
// be read into memory as a whole.
const mostLine = 64 << 20

func (fn *readFn) ProcessElement(ctx context.Context, p part, emit func(Document), note func(Note)) error {
	// Bytes that are not UTF-8 are compared as they are, but JSON cannot have them.
	take := func(d Document) {
		if !utf8.ValidString(d.ID) || !utf8.ValidString(d.Text) {
			note(Note{BadInput, d.ID, "the id or the text is not UTF-8; in JSON output, U+FFFD replaces the invalid bytes"})
		}
		emit(d)
	}
	if err := fn.read(ctx, p, take, note); err != nil {
		return fmt.Errorf("%s: %w", p.Path, err)
	}
	return nil
}

func (fn *readFn) read(ctx context.Context, p part, emit func(Document), note func(Note)) error {
	format, packed := fn.format(p.Path)
	if format == "" {
		note(Note{BadInput, p.Path, "the file was skipped, because its name does not end in a known format"})
		return nil
	}
	f, err := open(ctx, p.Path)
	if err != nil {
		return err
	}
	defer f.Close()
	if format == Parquet {
		return fn.readParquet(p, f, packed, emit, note)
	}
	r, err := p.of(f)
	if err != nil {
		return err
	}
	r, done, err := unpack(r, packed)
	if err != nil {
		return err
	}
	defer done()
	// A mark in the middle belongs to the text, so only the first part can have one to skip.
	if p.From == 0 {
		r = withoutBOM(r)
	}
	if format == Text {
		b, err := io.ReadAll(r)
		if err == nil {
			emit(Document{ID: p.Path, Text: string(b)})
		}
		return err
	}
	return fn.readLines(p, r, format == Lines, emit, note)
}

// open opens a file of any file system. The driver of it is closed with it.
func open(ctx context.Context, path string) (io.ReadCloser, error) {
	fs, err := filesystem.New(ctx, path)
	if err != nil {
		return nil, err
	}
	defer fs.Close()
	return fs.OpenRead(ctx, path)
}

// unpack returns what a file has before it was packed. done frees what that takes.
func unpack(f io.Reader, packed string) (r io.Reader, done func(), err error) {
	switch packed {
	case "gz":
		r, err = gzip.NewReader(bufio.NewReader(f))
	case "zst":
		z, err := zstd.NewReader(f, zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, nil, err
		}
		return z, z.Close, nil
	case "bz2":
		r = bzip2.NewReader(f)
	default:
		r = f
	}
	return r, func() {}, err
}

// readLines reads a document from each line. Lines that are skipped are counted too, so the number in a
// note or an id is that in the file. Empty lines of JSON are not errors and get no note.
func (fn *readFn) readLines(p part, from io.Reader, plain bool, emit func(Document), note func(Note)) error {
	r := bufio.NewReaderSize(from, 1<<16)
	var parser fastjson.Parser
	names := fn.texts()
	for number := p.First; ; number++ {
		line, isWhole, err := readLine(r)
		if err == io.EOF {
			return nil
		}
		place := fmt.Sprintf("%s:%d", p.Path, number)
		switch {
		case err != nil:
			return fmt.Errorf("line %d: %w", number, err)
		case !isWhole:
			note(Note{BadInput, place, fmt.Sprintf("the line is longer than %d bytes", mostLine)})
			continue
		case plain:
			emit(Document{ID: place, Text: string(line)})
			continue
		case len(bytes.TrimSpace(line)) == 0:
			continue
		}
		v, err := parser.ParseBytes(line)
		if err != nil {
			note(Note{BadInput, place, "not JSON: " + err.Error()})
			continue
		}
		d := Document{ID: place, Raw: string(line)}
		if wrong := d.fill(v, or(fn.ID, "id"), names); wrong != "" {
			note(Note{BadInput, place, wrong})
			continue
		}
		emit(d)
	}
}

// fill sets the id and the text of a document from the fields of a JSON object, or returns what is wrong
// with them. A document without an id keeps the one that it has. A number is taken as it is written, so 1
// and 1.0 are different ids.
func (d *Document) fill(object *fastjson.Value, idField string, textFields []string) (wrong string) {
	if object.Type() != fastjson.TypeObject {
		return "not a JSON object"
	}
	if id := object.Get(idField); id != nil {
		switch id.Type() {
		case fastjson.TypeString:
			d.ID = or(string(id.GetStringBytes()), d.ID)
		case fastjson.TypeNumber:
			d.ID = id.String()
		case fastjson.TypeNull:
		default:
			return fmt.Sprintf("the field %q is neither a text nor a number", idField)
		}
	}
	d.Text, wrong = textOf(textFields, "field", func(name string) any { return valueOf(object.Get(name)) })
	return wrong
}

// textOf returns the text of a document by the names of its fields, or what is wrong with it. value returns
// what a field holds: nil if it is not there, a string, a list of strings, or something else. JSON and
// Parquet share it, so that a collection gives the same texts in both formats. A document in which no field
// is there gets a note, and one whose fields are empty is a document with an empty text.
func textOf(names []string, kind string, value func(name string) any) (text, wrong string) {
	var lines []string
	isThere := false
	for _, name := range names {
		switch x := value(name).(type) {
		case nil:
			continue
		case string:
			if x != "" {
				lines = append(lines, x)
			}
		case []any:
			for _, item := range x {
				line, ok := item.(string)
				if !ok && item != nil {
					return "", fmt.Sprintf("the %s %q has an item that is not a string", kind, name)
				}
				if line != "" {
					lines = append(lines, line)
				}
			}
		default:
			return "", fmt.Sprintf("no %s %q with a text", kind, name)
		}
		isThere = true
	}
	if !isThere {
		return "", fmt.Sprintf("no %s %q with a text", kind, strings.Join(names, ","))
	}
	return strings.Join(lines, "\n"), ""
}

// valueOf returns what textOf wants to know of a value of JSON.
func valueOf(x *fastjson.Value) any {
	switch {
	case x == nil || x.Type() == fastjson.TypeNull:
		return nil
	case x.Type() == fastjson.TypeString:
		return string(x.GetStringBytes())
	case x.Type() == fastjson.TypeArray:
		list := make([]any, len(x.GetArray()))
		for i, item := range x.GetArray() {
			list[i] = valueOf(item)
		}
		return list
	}
	return x
}

// withoutBOM passes over a byte order mark at the beginning. Otherwise the first line would not be JSON.
func withoutBOM(r io.Reader) io.Reader {
	b := bufio.NewReader(r)
	if mark, _ := b.Peek(3); string(mark) == "\ufeff" {
		b.Discard(3)
	}
	return b
}

func or(name, usual string) string {
	if name == "" {
		return usual
	}
	return name
}

// readLine returns the next line without its end. A line that is too long is read to its end, but not kept.
// So the next line is found again, and memory is bounded. A last line without an end counts.
func readLine(r *bufio.Reader) (line []byte, isWhole bool, err error) {
	isWhole = true
	for {
		part, err := r.ReadSlice('\n')
		if len(line)+len(part) > mostLine {
			isWhole = false
		} else {
			line = append(line, part...)
		}
		switch {
		case err == nil || err == io.EOF && len(line) > 0:
			return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r")), isWhole, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, false, err
		}
	}
}

func init() {
	register4x1((*readFn).ProcessElement)
}
