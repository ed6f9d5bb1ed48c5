package main

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// outputs are the files being written. They go to temporary files beside their
// places and are moved there together by commit, when all are complete.
type outputs struct{ files []*output }

type output struct {
	*bufio.Writer
	path    string
	file    *os.File // temporary, unless direct
	direct  bool     // a pipe or device, or standard output
	closers []io.Closer
}

// create begins a file. Its name says whether it is compressed.
func (o *outputs) create(path string, stdout io.Writer) (*output, error) {
	out := &output{path: path}
	var w io.Writer
	if info, err := os.Stat(path); path == "-" {
		out.direct, w = true, stdout
	} else if err == nil && info.IsDir() {
		return nil, fmt.Errorf("%s: is a directory", path)
	} else if err == nil && !info.Mode().IsRegular() {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return nil, err
		}
		out.direct, out.file, w = true, f, f
	} else {
		f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.tmp")
		if err != nil {
			return nil, err
		}
		mode := os.FileMode(0o644)
		if info != nil {
			mode = info.Mode().Perm()
		}
		if err := f.Chmod(mode); err != nil {
			f.Close()
			os.Remove(f.Name())
			return nil, err
		}
		out.file, w = f, f
	}
	switch filepath.Ext(path) {
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
	o.files = append(o.files, out)
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
	for _, out := range o.files {
		if out.file != nil && !out.direct {
			out.file.Close()
			os.Remove(out.file.Name())
		}
	}
}

// escape makes an id safe for a column.
var escape = strings.NewReplacer("\\", `\\`, "\t", `\t`, "\n", `\n`, "\r", `\r`).Replace

// writePairs writes id, id and distance of each pair, sorted by the ids.
func (c *collection) writePairs(w *output) error {
	type line struct {
		a, b     string
		distance int32
	}
	lines := make([]line, len(c.pairs))
	for i, p := range c.pairs {
		a, b := c.docs[p.i].id, c.docs[p.j].id
		lines[i] = line{min(a, b), max(a, b), p.distance}
	}
	slices.SortFunc(lines, func(a, b line) int {
		if c := strings.Compare(a.a, b.a); c != 0 {
			return c
		}
		return strings.Compare(a.b, b.b)
	})
	for _, l := range lines {
		if _, err := fmt.Fprintf(w, "%s\t%s\t%d\n", escape(l.a), escape(l.b), l.distance); err != nil {
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
		if f != "jsonl" && f != s.format {
			return fmt.Errorf("-out %s: cannot hold documents of %s (%s); use a .jsonl file", path, s.path, s.format)
		}
	}
	return nil
}

// writeOut reads the sources again and copies the documents to keep as they
// stand; rows of CSV and texts become JSON objects if the output is JSON lines.
func (c *collection) writeOut(w *output, path string, stdin io.Reader, cols columns, maxLine int) error {
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
		if err != nil {
			return err
		}
		var failed error
		err = s.read(n, r, cols, maxLine, func(it item) bool {
			if it.header != nil && format == "csv" && names == nil {
				names = it.header.names
				failed = cw.Write(names)
			}
			if len(keep) == 0 || it.place != keep[0] || it.err != nil {
				return failed == nil
			}
			keep = keep[1:]
			switch {
			case failed != nil:
			case format == "csv" && !slices.Equal(names, it.header.names):
				failed = fmt.Errorf("%s:1: the columns %q differ from %q, so both do not fit into %s", s.path, it.header.names, names, path)
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
		if err != nil {
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
		names, values = it.header.names, it.row
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
