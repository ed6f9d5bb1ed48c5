package main

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// outputs are the files being written. They go to temporary files beside their
// places and are moved there together by commit, when all are complete.
type outputs struct {
	mu    sync.Mutex // against discard by a signal
	files []*output
}

type output struct {
	*bufio.Writer
	path    string   // with links followed
	file    *os.File // temporary, unless direct
	direct  bool     // a pipe or device, or standard output
	closers []io.Closer
}

// create begins a file. Its name says whether it is compressed.
func (o *outputs) create(path string, stdout io.Writer) (*output, error) {
	out := &output{path: path}
	var w io.Writer
	info, err := os.Stat(path)
	switch {
	case path == "-" || path == "/dev/stdout":
		out.direct, w = true, stdout
	case err == nil && info.IsDir():
		return nil, fmt.Errorf("%s: is a directory", path)
	case err == nil && (!info.Mode().IsRegular() || strings.HasPrefix(path, "/dev/") || strings.HasPrefix(path, "/proc/")):
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return nil, err
		}
		out.direct, out.file, w = true, f, f
	default:
		if err == nil {
			if out.path, err = filepath.EvalSymlinks(path); err != nil {
				return nil, err
			}
		}
		name := filepath.Join(filepath.Dir(out.path), fmt.Sprintf(".dedup-%016x.tmp", rand.Uint64()))
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, errors.Unwrap(err))
		}
		if info != nil {
			f.Chmod(info.Mode().Perm()) // as it was, if we may
		}
		out.file, w = f, f
	}
	o.mu.Lock()
	o.files = append(o.files, out)
	o.mu.Unlock()
	switch strings.ToLower(filepath.Ext(path)) {
	case ".gz":
		z := gzip.NewWriter(w)
		out.closers, w = append(out.closers, z), z
	case ".zst":
		z, err := zstd.NewWriter(w)
		if err != nil {
			return nil, err
		}
		out.closers, w = append(out.closers, z), z
	}
	out.Writer = bufio.NewWriterSize(w, 1<<18)
	return out, nil
}

// commit completes all files and moves them to their places.
func (o *outputs) commit() error {
	for _, out := range o.files {
		err := out.Flush()
		for _, c := range out.closers {
			if e := c.Close(); err == nil {
				err = e
			}
		}
		if out.file != nil {
			if !out.direct && err == nil {
				err = out.file.Sync()
			}
			if e := out.file.Close(); err == nil {
				err = e
			}
		}
		if err != nil {
			return fmt.Errorf("%s: %w", out.path, err)
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, out := range o.files {
		if !out.direct {
			if err := os.Rename(out.file.Name(), out.path); err != nil {
				return err
			}
		}
	}
	o.files = nil
	return nil
}

// discard removes what was not committed.
func (o *outputs) discard() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, out := range o.files {
		if out.file != nil && !out.direct {
			out.file.Close()
			os.Remove(out.file.Name())
		}
	}
}

// escape makes an id safe for a column.
var escape = strings.NewReplacer("\\", `\\`, "\t", `\t`, "\n", `\n`, "\r", `\r`).Replace

// writePairs writes id, id and distance of each pair, sorted by the ids. The
// smaller id comes first, but a new document before an old one.
func (c *collection) writePairs(w *output) error {
	byID := make([]uint32, len(c.docs))
	for i := range byID {
		byID[i] = uint32(i)
	}
	slices.SortFunc(byID, func(i, j uint32) int {
		return cmp.Or(strings.Compare(c.docs[i].id, c.docs[j].id), cmp.Compare(i, j))
	})
	rank := make([]uint32, len(byID))
	for r, i := range byID {
		rank[i] = uint32(r)
	}
	for n, p := range c.pairs {
		iOld, jOld := int(p.i) < c.old, int(p.j) < c.old
		if iOld && !jOld || iOld == jOld && rank[p.i] > rank[p.j] {
			c.pairs[n].i, c.pairs[n].j = p.j, p.i
		}
	}
	slices.SortFunc(c.pairs, func(p, q pair) int {
		return cmp.Or(cmp.Compare(rank[p.i], rank[q.i]), cmp.Compare(rank[p.j], rank[q.j]))
	})
	for _, p := range c.pairs {
		if _, err := fmt.Fprintf(w, "%s\t%s\t%d\n", escape(c.docs[p.i].id), escape(c.docs[p.j].id), p.distance); err != nil {
			return err
		}
	}
	return nil
}

// writeClusters writes each document with the representative of its group, in
// the order of the input.
func (c *collection) writeClusters(w *output) error {
	for i := c.old; i < len(c.docs); i++ {
		if _, err := fmt.Fprintf(w, "%s\t%s\n", escape(c.docs[i].id), escape(c.docs[c.cluster[i]].id)); err != nil {
			return err
		}
	}
	return nil
}

// outFormat returns the format of the cleaned collection.
func outFormat(path string) string {
	switch f := formatOf(path, ""); f {
	case "":
		return "jsonl"
	case "txt":
		return "lines"
	default:
		return f
	}
}

// checkOut reports whether documents of the sources can be written to path:
// JSON lines can hold all, CSV and text only their own kind.
func checkOut(path string, sources []source) error {
	f := outFormat(path)
	for _, s := range sources {
		if f != "jsonl" && f != s.format && s.err == nil {
			return fmt.Errorf("-out %s: cannot hold documents of %s (%s); use a .jsonl file", path, s.path, s.format)
		}
	}
	return nil
}

// writeOut reads the sources again and copies the documents to keep as they
// stand; rows of CSV and texts become JSON objects if the output is JSON lines.
func (c *collection) writeOut(w *output, o *options, stdin io.Reader) error {
	path, cols := o.out, o.cols
	format := outFormat(path)
	cw := csv.NewWriter(w)
	var keep []place
	for i := c.old; i < len(c.docs); i++ {
		if c.cluster[i] == i {
			keep = append(keep, c.docs[i].place)
		}
	}
	var names []string
	for n := c.oldSources; n < len(c.sources); n++ {
		s := &c.sources[n]
		r, closeSource, err := s.open(stdin, io.Discard)
		if err != nil && !o.skipBad {
			return err
		}
		if err != nil {
			continue // it was counted when it was read first
		}
		var failed error
		if s.header != nil && format == "csv" && names == nil {
			names = s.header.names
			failed = cw.Write(names)
		}
		err = s.read(n, r, cols, o.maxLine, func(it item) bool {
			if len(keep) == 0 || it.place != keep[0] || it.err != nil {
				return failed == nil
			}
			keep = keep[1:]
			switch {
			case failed != nil:
			case format == "csv" && !slices.Equal(names, s.header.names):
				failed = fmt.Errorf("%s:1: the columns %q differ from %q, so both do not fit into %s", s.path, s.header.names, names, path)
			case format == "csv":
				failed = cw.Write(it.row)
			case s.format == "jsonl" || format == "lines":
				w.Write(it.raw)
				failed = w.WriteByte('\n')
			default:
				failed = writeJSON(w, &it, s, cols)
			}
			return failed == nil
		})
		closeSource()
		if failed != nil {
			return failed
		}
		if err != nil && !o.skipBad {
			return err
		}
	}
	cw.Flush()
	if err := cw.Error(); err != nil {
		return err
	}
	if len(keep) > 0 {
		return fmt.Errorf("%s: changed while it was being read", c.sources[keep[0].source].path)
	}
	return nil
}

// writeJSON writes a row or a text as a line of JSON, columns in their order.
func writeJSON(w *output, it *item, s *source, cols columns) error {
	names, values := []string{cols.id, cols.text}, []string(nil)
	if it.row != nil {
		names, values = s.header.names, it.row
	} else {
		d, err := it.parse(s, cols)
		if err != nil {
			return err
		}
		values = []string{d.id, d.text}
	}
	for i, name := range names {
		open := ","
		if i == 0 {
			open = "{"
		}
		w.WriteString(open)
		if err := encodeString(w, name); err != nil {
			return err
		}
		w.WriteByte(':')
		if err := encodeString(w, values[i]); err != nil {
			return err
		}
	}
	_, err := w.WriteString("}\n")
	return err
}

func encodeString(w *output, s string) error {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		return err
	}
	_, err := w.WriteString(strings.TrimSuffix(b.String(), "\n"))
	return err
}
