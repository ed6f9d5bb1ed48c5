package neardupbeam

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
)

// This file cuts large files into parts, so that many workers can read a file. The numbers of lines are ids and are told
// in notes, so the beginning of a part must have one: a worker runs over the file once and counts lines, which takes a
// hundredth of what their documents take. The parts begin and end with lines. The SDK's own way, ranges of bytes that a
// runner may split while they are read, knows no numbers of lines.
//
// What is packed, and a text, is one part. So is Parquet where a file system reads only forwards, as Beam's gs:// and
// s3:// do.
//
// Parts keep to what the cut has seen. If a file has become shorter when a part of it is read, that is an
// error, since documents would be missing otherwise.

// partSize is about how many bytes of a file a worker reads at once: the size of the blocks of Beam's textio.
const partSize = 64 << 20

// mostForward is the largest number of parts of a file that can only be read forwards. A worker has to read what stands
// before its part and throw it away, so the workers of 8 parts read the file 4.5 times in all.
const mostForward = 8

// A part is what a worker reads of a file: the bytes From to To of lines, of which the first has the number
// First (from 1), or the rows From to To of Parquet. If To is 0, it is the whole file. It is all that goes
// to the worker that reads: the file must be there under the same path.
type part struct {
	Path     string
	From, To int64
	First    int
}

func encodePart(p part) []byte {
	return encoder(nil).text(p.Path).uint64(uint64(p.From)).uint64(uint64(p.To)).int(p.First)
}
func decodePart(b []byte) (part, error) {
	d := decoder{b: b}
	return part{d.text(), int64(d.uint64()), int64(d.uint64()), d.int()}, d.err
}

// matchFn lists the files that match a pattern, with their sizes in bytes. (MatchAll of the fileio of Beam asks for the time of each file too,
// and takes half a minute to compile.)
type matchFn struct{}

func (*matchFn) ProcessElement(ctx context.Context, pattern string, emit func(path string, size int64)) error {
	fs, err := filesystem.New(ctx, pattern)
	if err != nil {
		return err
	}
	defer fs.Close()
	paths, err := fs.List(ctx, pattern)
	if err != nil {
		return fmt.Errorf("%s: %w", pattern, err)
	}
	if len(paths) == 0 {
		return fmt.Errorf("neardupbeam: no file matches %q", pattern)
	}
	for _, path := range paths {
		size, err := fs.Size(ctx, path)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		emit(path, size)
	}
	return nil
}

// cutFn cuts a file into parts. Its sizes are equal, one for each pattern that matches it. Files that
// several patterns match come once, so no document is read twice.
type cutFn struct {
	ReadOptions
	Size int64 // about the bytes of a part
}

func (fn *cutFn) ProcessElement(ctx context.Context, path string, sizes func(*int64) bool, emit func(part)) (err error) {
	whole := part{Path: path, First: 1}
	format, packed := fn.format(path)
	var length int64
	sizes(&length)
	// Nobody can begin in the middle of a packed file, and a text is one document.
	if length <= fn.Size || packed != "" || format == Text || format == "" {
		emit(whole)
		return nil
	}
	f, err := open(ctx, path)
	if err != nil {
		return err
	}
	defer f.Close()
	if format != Parquet {
		size := fn.Size
		// Each further part of such a file costs another reading of all that is before it.
		if _, seeks := f.(io.Seeker); !seeks {
			size = max(size, length/mostForward+1)
		}
		err = cutLines(f, whole, size, emit)
	} else if local, ok := f.(*os.File); ok {
		err = cutParquet(local, whole, fn.Size, emit)
	} else {
		emit(whole)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// cutLines cuts after the first end of a line behind each size bytes. It counts the lines of the part on
// the way, and holds one buffer, however long a line is.
func cutLines(r io.Reader, p part, size int64, emit func(part)) error {
	buffer := make([]byte, 1<<20)
	at, line := int64(0), p.First // of the next byte
	for {
		n, err := r.Read(buffer)
		for b := buffer[:n]; len(b) > 0; {
			skip := min(int64(len(b)), max(0, p.From+size-1-at)) // no part ends in these
			line += bytes.Count(b[:skip], []byte("\n"))
			at += skip
			b = b[skip:]
			end := bytes.IndexByte(b, '\n')
			if end < 0 {
				at += int64(len(b))
				break
			}
			at += int64(end) + 1
			line++
			b = b[end+1:]
			p.To = at
			emit(p)
			p.From, p.First = at, line
		}
		if err == io.EOF {
			// The last line may have no end. After one that has, there is nothing left to emit.
			if p.To = at; p.From < at {
				emit(p)
			}
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// of returns the bytes of a part of lines. A reader that cannot seek has to read what is before the part.
func (p part) of(f io.Reader) (io.Reader, error) {
	if p.To == 0 {
		return f, nil
	}
	if s, seeks := f.(io.Seeker); seeks {
		if _, err := s.Seek(p.From, io.SeekStart); err != nil {
			return nil, err
		}
	} else if _, err := io.CopyN(io.Discard, f, p.From); err != nil {
		return nil, fmt.Errorf("the file became shorter while it was being read: %w", err)
	}
	return &exactly{f, p.To - p.From}, nil
}

// exactly reads as many bytes as there must be, and no more. A part that ends too early is an error and not
// a shorter part: its documents would be missing without a note.
type exactly struct {
	from io.Reader
	left int64
}

func (r *exactly) Read(b []byte) (int, error) {
	if r.left == 0 {
		return 0, io.EOF
	}
	n, err := r.from.Read(b[:min(int64(len(b)), r.left)])
	r.left -= int64(n)
	if err == io.EOF && r.left > 0 {
		err = fmt.Errorf("the file became shorter while it was being read: %w", io.ErrUnexpectedEOF)
	}
	return n, err
}

func init() {
	beam.RegisterCoder(reflect.TypeFor[part](), encodePart, decodePart)
	register3x1((*matchFn).ProcessElement)
	register.Emitter2[string, int64]()
	register4x1((*cutFn).ProcessElement)
	register.Iter1[int64]()
}
