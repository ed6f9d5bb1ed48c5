package pipeline

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/neardup/neardup/cmd/neardup/cli"
	"github.com/neardup/neardup/cmd/neardup/input"
	"github.com/neardup/neardup/cmd/neardup/output"
	"github.com/neardup/neardup/cmd/neardup/rows"
)

// This file writes collections: the cleaned one (--out), and the annotated one (--annotate), which has all
// documents with what was found about each. They are copied from the sources, which are read again, so the program
// does not keep all texts in memory.

// write writes the documents for which more reports true, in the order of the sources. more returns what is added to
// a document, by its number.
func (c *collection) write(w *cli.Output, path string, o *Reading, stdin io.Reader, added []string, more func(i int) (values []string, ok bool)) error {
	to := output.Target{Path: path, W: w, Cols: o.Cols, Added: added}
	to.Cols.All, to.Cols.Typed = true, true
	out, err := c.newOut(to, o, stdin, more)
	if err != nil {
		return err
	}
	err = c.again(o, stdin, to.Cols, func(i int, s *input.Source, it *input.Item) error {
		if values, ok := more(i); ok {
			return out.Write(s, it, values)
		}
		out.Drop(s, it)
		return nil
	}, out.Begin)
	return cmp.Or(err, out.End())
}

// newOut returns a writer for what is written of the collection.
func (c *collection) newOut(to output.Target, o *Reading, stdin io.Reader, more func(i int) ([]string, bool)) (output.Writer, error) {
	sources := c.Sources[c.oldSources:]
	out, note, err := output.NewCopy(to, sources, c.docs.Len(), c.duplicates())
	if note != "" {
		fmt.Fprintln(c.errors, "neardup:", note)
	}
	if out != nil || err != nil {
		return out, err
	}
	columns, err := c.columns(to, o, stdin, more)
	if err != nil {
		return nil, err
	}
	return output.NewWriter(to, columns)
}

// columns returns the columns of what is written, for which it reads the sources.
func (c *collection) columns(to output.Target, o *Reading, stdin io.Reader, more func(i int) ([]string, bool)) (*rows.Columns, error) {
	sources := c.Sources[c.oldSources:]
	columns := &rows.Columns{}
	first := to.Cols // only Parquet has types in its columns, so the cells of workbooks need no look for other formats
	first.Typed = output.FormatOf(to.Path) == "parquet" || output.FormatOf(to.Path) == "arrow" || slices.ContainsFunc(sources, func(s input.Source) bool { return s.Format == "parquet" || s.Format == "arrow" })
	err := c.again(o, stdin, first, func(i int, s *input.Source, it *input.Item) error {
		if _, ok := more(i); !ok {
			return nil
		}
		fields, err := it.Typed(s, first)
		columns.Add(fields)
		return err
	}, func(s *input.Source) error {
		if s.Header.HasTwins() {
			return fmt.Errorf("%s:1: two columns have the same name: %q", s.Path, s.Header.Fields)
		}
		columns.Name(s.Header.Fields)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(columns.Names()) == 0 { // there are no documents
		columns.Name([]string{o.Cols.ID, o.Cols.Texts()[0]})
	}
	return columns, nil
}

// again reads the new sources once more, and calls use with the item of each document, in their order. It calls
// begin for each source with a header, before its first document. It returns the first error of the two, and an error
// if the documents are not there any more.
func (c *collection) again(o *Reading, stdin io.Reader, cols input.Columns, use func(i int, s *input.Source, it *input.Item) error, begin func(s *input.Source) error) error {
	return c.againFrom(c.oldSources, c.old, o, stdin, cols, use, begin)
}

// eachWholeText reads all sources once more, old ones too, and calls use with the text of each wanted document, in their order. Documents of earlier
// calls (--state) are in no source. The text is only valid during the call.
func (c *collection) eachWholeText(o *Reading, stdin io.Reader, wanted func(i int) bool, use func(i int, text string) error) error {
	next := 0
	if c.exact != nil && c.exact.state != nil {
		next = c.old
	}
	var x input.Decoder
	return c.againFrom(0, next, o, stdin, c.cols, func(i int, s *input.Source, it *input.Item) error {
		if !wanted(i) {
			return nil
		}
		_, text, err := it.WholeText(s, c.cols, &x)
		if err != nil {
			return err
		}
		return use(i, text)
	}, func(*input.Source) error { return nil })
}

// againFrom is again from a source on, whose first document is the one with the number next.
func (c *collection) againFrom(first, next int, o *Reading, stdin io.Reader, cols input.Columns, use func(i int, s *input.Source, it *input.Item) error, begin func(s *input.Source) error) error {
	for n := first; n < len(c.Sources); n++ {
		if c.Sources[n].Format == input.Fingerprints { // which have no texts
			for next < c.docs.Len() && int(c.Doc(next).Source) == n {
				next++
			}
			continue
		}
		read := func(r io.Reader) (err error) {
			next, err = c.sourceAgain(n, next, r, o, cols, use, begin)
			return err
		}
		if err := c.withSource(n, o, stdin, read); err != nil {
			return err
		}
	}
	if next < c.docs.Len() {
		return fmt.Errorf("%s: the file changed while it was being read", c.Sources[c.Doc(next).Source].Path)
	}
	return nil
}

// withSource opens a source for read. A source that cannot be opened was counted by the first reading, if it may be skipped.
func (c *collection) withSource(n int, o *Reading, stdin io.Reader, read func(io.Reader) error) error {
	r, closeSource, err := c.Sources[n].Open(stdin, io.Discard)
	if err != nil && o.SkipBad {
		return nil
	}
	if err != nil {
		return err
	}
	defer closeSource()
	return read(r)
}

// sourceAgain is again for one source, whose first document is the one with the number next. It returns the number of the next source's first.
func (c *collection) sourceAgain(n, next int, r io.Reader, o *Reading, cols input.Columns, use func(i int, s *input.Source, it *input.Item) error, begin func(s *input.Source) error) (int, error) {
	s := &c.Sources[n]
	var failed error
	begun := false
	start := func() {
		if s.Header != nil && !begun {
			begun, failed = true, begin(s)
		}
	}
	err := s.Read(n, r, cols, o.MaxLine, func(it input.Item) bool {
		if next == c.docs.Len() || it.Place != c.Doc(next).Place || it.Err != nil {
			return true
		}
		if start(); failed == nil {
			failed = use(next, s, &it)
		}
		next++
		return failed == nil
	})
	if failed == nil {
		start() // it may have no documents
	}
	if failed == nil && !o.SkipBad {
		failed = err
	}
	return next, failed
}

// writeOut writes the documents that are kept, unchanged.
func (c *collection) writeOut(w *cli.Output, o *Options, stdin io.Reader) error {
	return c.write(w, o.Out, &o.Reading, stdin, nil, func(i int) ([]string, bool) { return nil, int(c.cluster[i]) == i })
}

// annotations are the columns that --annotate adds.
var annotations = []string{"neardup_group", "neardup_size", "neardup_kept", "neardup_like", "neardup_similarity", "neardup_kind"}

// writeAnnotated writes all documents with what was found about each: its group and how many documents that has,
// whether it is kept, and otherwise which document is, how similar they are and how they differ.
func (c *collection) writeAnnotated(w *cli.Output, o *Options, stdin io.Reader) error {
	sizes := c.sizes()
	return c.write(w, o.Annotate, &o.Reading, stdin, annotations, func(i int) ([]string, bool) {
		group := c.groupOf(i)
		values := []string{c.Doc(group).ID, strconv.Itoa(int(sizes[group])), "yes", "", "", ""}
		if root := int(c.cluster[i]); root != i {
			values[2], values[3] = "no", c.Doc(root).ID
			if p, ok := c.likeOf(i); ok {
				values[4] = c.method.show(p.value)
				if p.kind != 0 {
					values[5] = p.kind.String()
				}
			}
		}
		return values, true
	})
}
