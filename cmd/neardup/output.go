package main

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/neardup/neardup/cmd/neardup/internal/cli"
)

// This file writes the outputs: pairs, groups and the cleaned collection. The cleaned collection is
// copied from the sources, which are read again, so the program does not keep all texts in memory.

// writePairs writes the two ids, the value and the kind of each pair, sorted by the ids. In a pair the
// smaller id comes first, but a new document always comes before an old one.
func (c *collection) writePairs(w *cli.Output) error {
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
		line := fmt.Sprintf("%s\t%s\t%s", cli.Escape(c.docs[p.i].id), cli.Escape(c.docs[p.j].id), c.method.show(p.value))
		if p.kind != 0 {
			line += "\t" + p.kind.String()
		}
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	return nil
}

// writeClusters writes the id of each new document and the id of the document that its group keeps,
// in the order of the input.
func (c *collection) writeClusters(w *cli.Output) error {
	for i := c.old; i < len(c.docs); i++ {
		if _, err := fmt.Fprintf(w, "%s\t%s\n", cli.Escape(c.docs[i].id), cli.Escape(c.docs[c.cluster[i]].id)); err != nil {
			return err
		}
	}
	return nil
}

// outFormat returns the format of the cleaned collection, by the name of its file.
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

// checkOut returns an error if the documents of the sources cannot be written to path. JSON lines
// can hold all documents. CSV and text can hold only documents of the same format.
func checkOut(path string, sources []source) error {
	f := outFormat(path)
	for _, s := range sources {
		if f != "jsonl" && f != s.format && s.err == nil {
			return fmt.Errorf("--out %s: this format cannot hold the documents of %s (%s); use a .jsonl file", path, s.path, s.format)
		}
	}
	return nil
}

// writeOut reads the sources again and copies the documents that are kept, unchanged. If the output
// is JSON lines, rows of CSV and texts become JSON objects.
func (c *collection) writeOut(w *cli.Output, o *options, stdin io.Reader) error {
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
			continue // the first reading counted it
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
				failed = fmt.Errorf("%s:1: the columns are %q instead of %q, so %s cannot hold both", s.path, s.header.names, names, path)
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
		return fmt.Errorf("%s: the file changed while it was being read", c.sources[keep[0].source].path)
	}
	return nil
}

// A textWriter is where JSON is written to: an output or a buffer.
type textWriter interface {
	io.StringWriter
	io.ByteWriter
}

// writeJSON writes a row or a text as a JSON object on one line. Columns keep their order.
func writeJSON(w textWriter, it *item, s *source, cols columns) error {
	names, values := []string{cols.id, cols.text}, []string(nil)
	if it.row != nil {
		names, values = s.header.names, it.row
	} else {
		d, err := it.parse(s, cols, &decoder{})
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

// encodeString writes a JSON string.
func encodeString(w textWriter, s string) error {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		return err
	}
	_, err := w.WriteString(strings.TrimSuffix(b.String(), "\n"))
	return err
}
