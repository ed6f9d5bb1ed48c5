package neardupbeam

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/fileio"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/transforms/filter"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
	"github.com/valyala/fastjson"
)

// This file reads documents from files, of any file system that Beam has a driver for. A worker reads a file from its
// beginning to its end, so that notes can tell the line. So a large collection should be many files, as it
// usually is. A document without an id, or with an empty one, is known by its path and line. What cannot be read is noted and passed over; a file that cannot be opened fails the pipeline.

// ReadOptions say what documents are in files. The zero value takes the fields "id" and "text".
type ReadOptions struct {
	ID   string // the field or column of the id; "" means "id". Without it, the id is the path and the line
	Text string // the field or column of the text; "" means "text"

	// Format is jsonl, parquet, lines (a document each line) or text (a document each file). "" goes by the
	// end of a name: .jsonl, .ndjson and .json are JSON lines, .parquet is Parquet, .txt is text.
	Format string
}

// The formats of files.
const (
	JSONLines = "jsonl"
	Parquet   = "parquet"
	Lines     = "lines"
	Text      = "text"
)

// Check returns an error for an unknown format.
func (o ReadOptions) Check() error {
	switch o.Format {
	case "", JSONLines, Parquet, Lines, Text:
		return nil
	}
	return fmt.Errorf("neardupbeam: format %q: must be jsonl, parquet, lines or text", o.Format)
}

// Read reads the files that match patterns, as a PCollection<Document>, with a PCollection<Note> of what was
// passed over. Names that end in .gz, .zst or .bz2 are compressed. A pattern that matches no file fails the
// pipeline. Read panics if the options do not pass [ReadOptions.Check].
func Read(s beam.Scope, patterns []string, o ReadOptions) (documents, notes beam.PCollection) {
	if err := o.Check(); err != nil {
		panic(err)
	}
	s = s.Scope("neardup.Read")
	files := fileio.MatchAll(s, beam.CreateList(s, patterns), fileio.MatchEmptyDisallow())
	return beam.ParDo2(s, &readFn{o}, filter.Distinct(s, files)) // several patterns may match a file
}

type readFn struct{ ReadOptions }

// mostLine is the longest line that is read, in bytes.
const mostLine = 64 << 20

func (fn *readFn) ProcessElement(ctx context.Context, file fileio.FileMetadata, emit func(Document), note func(Note)) error {
	fs, err := filesystem.New(ctx, file.Path)
	if err != nil {
		return err
	}
	defer fs.Close()
	f, err := fs.OpenRead(ctx, file.Path)
	if err != nil {
		return err
	}
	defer f.Close()
	name := strings.ToLower(file.Path)
	r := io.Reader(f)
	switch path.Ext(name) {
	case ".gz":
		r, err = gzip.NewReader(bufio.NewReader(f))
	case ".zst":
		var z *zstd.Decoder
		if z, err = zstd.NewReader(f, zstd.WithDecoderConcurrency(1)); err == nil {
			defer z.Close()
			r = z
		}
	case ".bz2":
		r = bzip2.NewReader(f)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", file.Path, err)
	}
	take := emit
	emit = func(d Document) {
		if !utf8.ValidString(d.ID) || !utf8.ValidString(d.Text) {
			note(Note{BadInput, d.ID, "the id or the text is not UTF-8; where it is written as JSON, U+FFFD stands for what is wrong"})
		}
		take(d)
	}
	for _, end := range []string{".gz", ".zst", ".bz2"} {
		name = strings.TrimSuffix(name, end)
	}
	format := fn.Format
	if format == "" {
		format = map[string]string{".jsonl": JSONLines, ".ndjson": JSONLines, ".json": JSONLines, ".parquet": Parquet, ".txt": Text}[path.Ext(name)]
	}
	switch format {
	case JSONLines, Lines:
		err = fn.readLines(file.Path, withoutBOM(r), format == Lines, emit, note)
	case Parquet:
		err = fn.readParquet(file.Path, r, emit, note)
	case Text:
		var b []byte
		if b, err = io.ReadAll(withoutBOM(r)); err == nil {
			emit(Document{ID: file.Path, Text: string(b)})
		}
	default:
		note(Note{BadInput, file.Path, "the name does not tell the format, so the file was passed over"})
	}
	if err != nil {
		return fmt.Errorf("%s: %w", file.Path, err)
	}
	return nil
}

// readLines reads a document from each line.
func (fn *readFn) readLines(path string, from io.Reader, plain bool, emit func(Document), note func(Note)) error {
	r := bufio.NewReaderSize(from, 1<<16)
	var parser fastjson.Parser
	for number := 1; ; number++ {
		line, isWhole, err := readLine(r)
		if err == io.EOF {
			return nil
		}
		place := fmt.Sprintf("%s:%d", path, number)
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
			note(Note{BadInput, place, "no JSON: " + err.Error()})
			continue
		}
		d := Document{ID: place, Raw: string(line)}
		wrong := ""
		if v.Type() != fastjson.TypeObject {
			wrong = "no JSON object"
		} else if id := v.Get(or(fn.ID, "id")); id != nil && id.Type() == fastjson.TypeString {
			d.ID = or(string(id.GetStringBytes()), place)
		} else if id != nil && id.Type() == fastjson.TypeNumber {
			d.ID = id.String()
		} else if id != nil && id.Type() != fastjson.TypeNull {
			wrong = fmt.Sprintf("the field %q is neither a text nor a number", or(fn.ID, "id"))
		}
		if wrong == "" {
			if text := v.Get(or(fn.Text, "text")); text == nil || text.Type() != fastjson.TypeString {
				wrong = fmt.Sprintf("no field %q with a text", or(fn.Text, "text"))
			} else {
				d.Text = string(text.GetStringBytes())
			}
		}
		if wrong != "" {
			note(Note{BadInput, place, wrong})
			continue
		}
		emit(d)
	}
}

// withoutBOM passes over a byte order mark at the beginning.
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

// readParquet reads a document from each row, one group of rows after the other. The index is at the end of a file, and most file systems of Beam
// read only forwards, so a copy of the file is read, which goes when it is closed.
func (fn *readFn) readParquet(path string, from io.Reader, emit func(Document), note func(Note)) (err error) {
	defer func() {
		if p := recover(); p != nil { // of the library, on a damaged file
			err = fmt.Errorf("damaged Parquet: %v", p)
		}
	}()
	local, err := os.CreateTemp("", "neardup-*.parquet")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, local.Close(), os.Remove(local.Name())) }()
	size, err := io.Copy(local, from)
	if err != nil {
		return err
	}
	f, err := parquet.OpenFile(local, size)
	if err != nil {
		return err
	}
	r := parquet.NewGenericReader[map[string]any](f, f.Schema())
	defer r.Close()
	rows := make([]map[string]any, 64)
	for number := 1; ; {
		for i := range rows {
			rows[i] = map[string]any{}
		}
		n, err := r.Read(rows)
		for _, row := range rows[:n] {
			place := fmt.Sprintf("%s:%d", path, number)
			number++
			text, ok := row[or(fn.Text, "text")].(string)
			if !ok {
				note(Note{BadInput, place, fmt.Sprintf("no column %q with a text", or(fn.Text, "text"))})
				continue
			}
			d := Document{ID: place, Text: text}
			if id, ok := row[or(fn.ID, "id")]; ok && id != nil {
				d.ID = or(fmt.Sprint(id), place)
			}
			for name, value := range row {
				if x, ok := value.(float64); ok && (math.IsNaN(x) || math.IsInf(x, 0)) {
					row[name] = nil
					note(Note{BadInput, place, fmt.Sprintf("column %q is %v, which JSON cannot say; it is written as null", name, x)})
				} else if x, ok := value.(float32); ok && (math.IsNaN(float64(x)) || math.IsInf(float64(x), 0)) {
					row[name] = nil
					note(Note{BadInput, place, fmt.Sprintf("column %q is %v, which JSON cannot say; it is written as null", name, x)})
				}
			}
			raw, err := json.Marshal(row)
			if err != nil { // a number like that within a list or a group
				note(Note{BadInput, place, "it cannot be written as JSON: " + err.Error()})
				continue
			}
			d.Raw = string(raw)
			emit(d)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("row %d: %w", number, err)
		}
	}
}

func init() {
	register.DoFn4x1[context.Context, fileio.FileMetadata, func(Document), func(Note), error](&readFn{})
}
