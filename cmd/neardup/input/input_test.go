package input

import (
	"compress/gzip"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"
)

// TestErrorWithData: an error that comes together with the last bytes is not lost.
func TestErrorWithData(t *testing.T) {
	wrong := errors.New("damaged")
	for _, r := range []io.Reader{
		iotest.DataErrReader(io.MultiReader(strings.NewReader("one\ntwo\n"), iotest.ErrReader(wrong))),
		io.MultiReader(strings.NewReader("one\ntwo\n"), iotest.ErrReader(wrong)),
	} {
		lines := &LineReader{R: &once{Reader: r}, Max: 100}
		n := 0
		var err error
		for ; err == nil; n++ {
			_, err = lines.Next()
		}
		if n != 3 || err != wrong {
			t.Errorf("%d lines, and then %v", n-1, err)
		}
	}
}

// once returns an error only once, and then says that the input has ended.
type once struct {
	io.Reader
	failed bool
}

func (o *once) Read(b []byte) (int, error) {
	if o.failed {
		return 0, io.EOF
	}
	n, err := o.Reader.Read(b)
	o.failed = err != nil
	return n, err
}

// FuzzInput reads any bytes in every format. There must be no panic, places must be in order, and
// no item may be longer than the limit.
func FuzzInput(f *testing.F) {
	f.Add("{\"id\":\"a\",\"text\":\"b\",\"tags\":[\"x\",1],\"text2\":\"a;b\"}", "jsonl")
	f.Add("{\"id\":\"a\",\"text\":\"one\"}\n\n{\"id\":\"b\",\"text\":\"two\"}\n", "jsonl")
	f.Add("id,text\na,\"b\nc\"\nd,e\n", "csv")
	f.Add("a\n\nb\r\n\xff", "lines")
	f.Add("id,text\n\"", "csv")
	f.Add("id,text,title\n1,2,3\n1,2\n\"x\"y,2,3\n", "csv")
	for _, name := range []string{"pages.warc.gz", "types.arrow"} {
		file, err := os.Open("../testdata/formats/" + name)
		if err != nil {
			f.Fatal(err)
		}
		var r io.Reader = file
		if z, err := gzip.NewReader(file); err == nil {
			r = z
		} else {
			file.Seek(0, io.SeekStart)
		}
		b, err := io.ReadAll(r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(b), strings.Split(name, ".")[1])
		file.Close()
	}
	f.Fuzz(func(t *testing.T, input, format string) {
		if format != "csv" && format != "lines" && format != "txt" && format != "warc" && format != "arrow" {
			format = "jsonl"
		}
		s := Source{Path: "x", Format: format}
		line := int32(0)
		cols := Columns{ID: "id", Text: "text", Title: "title"}
		if format == "jsonl" {
			cols.Metadata = "tags,text2"
		}
		err := s.Read(0, strings.NewReader(input), cols, 100, func(it Item) bool {
			if it.Line <= line && it.Err == nil || it.Line < 1 {
				t.Fatalf("line %d after %d", it.Line, line)
			}
			if format != "txt" && len(it.Raw) > 100 {
				t.Fatalf("line %d has %d bytes", it.Line, len(it.Raw))
			}
			line = max(line, it.Line)
			d, err := it.Parse(&s, cols, &Decoder{})
			if err == nil && d.ID == "" {
				t.Fatal("a document without id")
			}
			return true
		})
		if err != nil && !strings.HasPrefix(err.Error(), "x:") {
			t.Fatalf("error without a place: %v", err)
		}
	})
}
