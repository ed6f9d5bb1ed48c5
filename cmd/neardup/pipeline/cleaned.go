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
	p := c.newPass(to.Cols)
	p.frees, p.begin = true, out.Begin
	p.use = func(i int, s *input.Source, it *input.Item, _ struct{}) error {
		if values, ok := more(i); ok {
			return out.Write(s, it, values)
		}
		out.Drop(s, it)
		return nil
	}
	return cmp.Or(p.run(c, o, stdin), out.End())
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
	p := c.newPass(first)
	p.use = func(i int, s *input.Source, it *input.Item, _ struct{}) error {
		if _, ok := more(i); !ok {
			return nil
		}
		fields, err := it.Typed(s, first)
		columns.Add(fields)
		return err
	}
	p.begin = func(s *input.Source) error {
		if s.Header.HasTwins() {
			return fmt.Errorf("%s:1: two columns have the same name: %q", s.Path, s.Header.Fields)
		}
		columns.Name(s.Header.Fields)
		return nil
	}
	if err := p.run(c, o, stdin); err != nil {
		return nil, err
	}
	if len(columns.Names()) == 0 { // there are no documents
		columns.Name([]string{o.Cols.ID, o.Cols.Texts()[0]})
	}
	return columns, nil
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
