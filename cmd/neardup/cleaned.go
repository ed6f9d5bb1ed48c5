package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/neardup/neardup/cmd/neardup/internal/cli"
	"github.com/neardup/neardup/cmd/neardup/rows"
)

// This file writes collections: the cleaned one (--out), and the annotated one (--annotate), which has all
// documents with what was found about each. They are copied from the sources, which are read again, so the program
// does not keep all texts in memory.

// write writes the documents for which more reports true, in the order of the sources. more returns what is added to
// a document, by its number.
func (c *collection) write(w *cli.Output, path string, o *options, stdin io.Reader, added []string, more func(i int) (values []string, ok bool)) error {
	to := target{path, w, o.cols, added}
	to.cols.all, to.cols.typed = true, true
	out, err := c.newOut(to, o, stdin, more)
	if err != nil {
		return err
	}
	err = c.again(o, stdin, to.cols, func(i int, s *source, it *item) error {
		if values, ok := more(i); ok {
			return out.write(s, it, values)
		}
		out.drop(s, it)
		return nil
	}, out.begin)
	return cmp.Or(err, out.end())
}

// newOut returns a writer for what is written of the collection.
func (c *collection) newOut(to target, o *options, stdin io.Reader, more func(i int) ([]string, bool)) (writer, error) {
	sources := c.sources[c.oldSources:]
	isAll := func(format string) bool {
		return !slices.ContainsFunc(sources, func(s source) bool { return s.err == nil && s.format != format })
	}
	switch format := outFormat(to.path); {
	case format == "parquet" && isAll("parquet"):
		return &parquetCopy{target: to}, nil
	case format == "xlsx" && len(sources) == 1 && isAll("xlsx") && hasMacros(to.path) == hasMacros(sources[0].path):
		if len(to.added) > 0 || c.docs.Len()*c.duplicates() <= mostRemoved {
			return &bookOut{target: to}, nil
		}
		fmt.Fprintf(c.errors, "neardup: %s is a new workbook with the values of formulas: to remove %d of %d rows from %s would take long\n", to.path, c.duplicates(), c.docs.Len(), sources[0].path)
	case !needsColumns(to.path, sources):
		return newWriter(to, nil)
	}
	columns, err := c.columns(to, o, stdin, more)
	if err != nil {
		return nil, err
	}
	return newWriter(to, columns)
}

// columns returns the columns of what is written, for which it reads the sources.
func (c *collection) columns(to target, o *options, stdin io.Reader, more func(i int) ([]string, bool)) (*rows.Columns, error) {
	sources := c.sources[c.oldSources:]
	columns := &rows.Columns{}
	first := to.cols // only Parquet has types in its columns, so the cells of workbooks need no look for other formats
	first.typed = outFormat(to.path) == "parquet" || slices.ContainsFunc(sources, func(s source) bool { return s.format == "parquet" })
	err := c.again(o, stdin, first, func(i int, s *source, it *item) error {
		if _, ok := more(i); !ok {
			return nil
		}
		fields, err := it.typed(s, first)
		columns.Add(fields)
		return err
	}, func(s *source) error {
		if s.header.hasTwins() {
			return fmt.Errorf("%s:1: two columns have the same name: %q", s.path, s.header.fields)
		}
		columns.Name(s.header.fields)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(columns.Names()) == 0 { // there are no documents
		columns.Name([]string{o.cols.id, o.cols.texts()[0]})
	}
	return columns, nil
}

// A target is what a writer writes to.
type target struct {
	path  string
	w     *cli.Output
	cols  columns
	added []string // the names of columns that are not in the sources
}

func (target) begin(*source) error { return nil }
func (target) drop(*source, *item) {}
func (target) end() error          { return nil }

// again reads the new sources once more, and calls use with the item of each document, in their order. It calls
// begin for each source with a header, before its first document. It returns the first error of the two, and an error
// if the documents are not there any more.
func (c *collection) again(o *options, stdin io.Reader, cols columns, use func(i int, s *source, it *item) error, begin func(s *source) error) error {
	next := c.old
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
		begun := false
		start := func() {
			if s.header != nil && !begun {
				begun, failed = true, begin(s)
			}
		}
		err = s.read(n, r, cols, o.maxLine, func(it item) bool {
			if next == c.docs.Len() || it.place != c.doc(next).place || it.err != nil {
				return true
			}
			if start(); failed == nil {
				failed = use(next, s, &it)
			}
			next++
			return failed == nil
		})
		closeSource()
		if failed == nil {
			start() // it may have no documents
		}
		if failed != nil {
			return failed
		}
		if err != nil && !o.skipBad {
			return err
		}
	}
	if next < c.docs.Len() {
		return fmt.Errorf("%s: the file changed while it was being read", c.sources[c.doc(next).source].path)
	}
	return nil
}

// writeOut writes the documents that are kept, unchanged.
func (c *collection) writeOut(w *cli.Output, o *options, stdin io.Reader) error {
	return c.write(w, o.out, o, stdin, nil, func(i int) ([]string, bool) { return nil, int(c.cluster[i]) == i })
}

// annotations are the columns that --annotate adds.
var annotations = []string{"neardup_group", "neardup_kept", "neardup_like", "neardup_similarity", "neardup_kind"}

// writeAnnotated writes all documents with what was found about each: the number of its group, if it is in one;
// whether it is kept; and otherwise which document is, how similar they are and how they differ.
func (c *collection) writeAnnotated(w *cli.Output, o *options, stdin io.Reader) error {
	numbers := make(map[int]int) // of groups, by the document that they keep
	size := make(map[int]int)
	for i := c.old; i < c.docs.Len(); i++ {
		size[int(c.cluster[i])]++
	}
	return c.write(w, o.annotate, o, stdin, annotations, func(i int) ([]string, bool) {
		root := int(c.cluster[i])
		if root == i && size[i] == 1 {
			return []string{"", "yes", "", "", ""}, true
		}
		if numbers[root] == 0 {
			numbers[root] = len(numbers) + 1
		}
		values := []string{strconv.Itoa(numbers[root]), "yes", "", "", ""}
		if root != i {
			values[1], values[2] = "no", c.doc(root).id
			if p, ok := c.like[i]; ok && (p.probability > 0 || c.exact == nil) {
				values[3] = c.method.show(p.value)
				if p.kind != 0 {
					values[4] = p.kind.String()
				}
			}
		}
		return values, true
	})
}
