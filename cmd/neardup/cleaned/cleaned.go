// Package cleaned writes collections: documents that are chosen, with what is added to each, or as they were edited. They are copied from the
// sources, which are read again, so the program does not keep all texts in memory.
package cleaned

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/neardup/neardup/cmd/neardup/cli"
	"github.com/neardup/neardup/cmd/neardup/corpus"
	"github.com/neardup/neardup/cmd/neardup/input"
	"github.com/neardup/neardup/cmd/neardup/output"
	"github.com/neardup/neardup/cmd/neardup/rows"
)

// A Choice says whether a document is written, by its number, and which values are added to it. Several goroutines call it.
type Choice func(i int) (values []string, ok bool)

// Write writes the new documents that are chosen to w, which has a path, in the order of the sources. added are the names of the values that are added, and
// dropped is how many documents are not chosen.
func Write(c *corpus.Corpus, w *cli.Output, path string, added []string, dropped int, choose Choice) error {
	if c.Rows != nil {
		c, dropped, choose = rowsOf(c, choose)
	}
	to := target(c, w, path)
	to.Added = added
	out, note, err := output.NewCopy(to, c.NewSources(), c.Docs.Len(), dropped)
	if note != "" {
		fmt.Fprintln(c.Log.Errors, "neardup:", note)
	}
	if out == nil && err == nil {
		out, err = newRows(c, to, choose)
	}
	if err != nil {
		return err
	}
	p := &corpus.Pass[row]{Cols: to.Cols, Frees: true, Begin: out.Begin}
	p.Work = func(_, i int, s *input.Source, it *input.Item) (r row, err error) {
		values, ok := choose(i)
		if r.isKept = ok; ok {
			r.Row, err = out.Prepare(s, it, values)
		}
		return r, err
	}
	p.Use = func(i int, s *input.Source, it *input.Item, r row) error {
		if !r.isKept {
			out.Drop(s, it)
			return nil
		}
		return out.Write(s, it, r.Row)
	}
	return cmp.Or(p.Run(c), out.End())
}

// rowsOf returns the corpus of the rows of documents, how many of the new ones are not chosen, and the choice of them: that of the document that a row is a
// part of.
func rowsOf(c *corpus.Corpus, choose Choice) (rows *corpus.Corpus, dropped int, of Choice) {
	documents := c.Documents()
	of = func(i int) ([]string, bool) {
		if documents[i] < 0 {
			return nil, false
		}
		return choose(int(documents[i]))
	}
	rows = c.Rows.Corpus
	for i := rows.Old; i < rows.Docs.Len(); i++ {
		if _, isChosen := of(i); !isChosen {
			dropped++
		}
	}
	return rows, dropped, of
}

// A row is a document as a worker has prepared it.
type row struct {
	output.Row
	isKept bool
}

// target returns the target of a path: documents with all of their fields, and types.
func target(c *corpus.Corpus, w *cli.Output, path string) output.Target {
	to := output.Target{Path: path, W: w, Cols: c.Reading.Cols}
	to.Cols.All, to.Cols.Typed = true, true
	return to
}

// newRows returns a writer of rows, whose columns it looks for in the documents that are chosen.
func newRows(c *corpus.Corpus, to output.Target, choose Choice) (output.Writer, error) {
	columns, err := columns(c, to, choose)
	if err != nil {
		return nil, err
	}
	return output.NewWriter(to, columns)
}

// columns returns the columns of what is written, for which it reads the sources.
func columns(c *corpus.Corpus, to output.Target, choose Choice) (*rows.Columns, error) {
	sources := c.NewSources()
	columns := &rows.Columns{}
	first := to.Cols // only Parquet has types in its columns, so the cells of workbooks need no look for other formats
	first.Typed = output.FormatOf(to.Path) == "parquet" || output.FormatOf(to.Path) == "arrow" || slices.ContainsFunc(sources, func(s input.Source) bool { return s.Format == "parquet" || s.Format == "arrow" })
	type chosen struct {
		fields rows.Struct
		isKept bool
	}
	p := &corpus.Pass[chosen]{Cols: first}
	p.Work = func(_, i int, s *input.Source, it *input.Item) (x chosen, err error) {
		if _, x.isKept = choose(i); x.isKept {
			x.fields, err = it.Typed(s, first)
		}
		return x, err
	}
	p.Use = func(_ int, _ *input.Source, _ *input.Item, x chosen) error {
		if x.isKept {
			columns.Add(x.fields)
		}
		return nil
	}
	p.Begin = func(s *input.Source) error {
		if s.Header.HasTwins() {
			return fmt.Errorf("%s:1: two columns have the same name: %q", s.Path, s.Header.Fields)
		}
		columns.Name(s.Header.Fields)
		return nil
	}
	if err := p.Run(c); err != nil {
		return nil, err
	}
	if len(columns.Names()) == 0 { // no documents
		columns.Name([]string{c.Reading.Cols.ID, c.Reading.Cols.Texts()[0]})
	}
	return columns, nil
}

// Edit writes the new documents that edit keeps to w, which has a path, as it leaves them. Rows of text stay as they are but for what is edited. Several
// goroutines call edit; what it returns besides is passed to done in the order of the documents. Edit returns an error if a file has changed since it was
// found: what is left out of one place may not stand in another one any more.
func Edit[T any](c *corpus.Corpus, w *cli.Output, path string, edit func(i int, s *input.Source, it *input.Item) (isKept bool, made T, err error), done func(i int, made T) error) error {
	to := target(c, w, path)
	out, err := newEdited(c, to)
	if err != nil {
		return err
	}
	type edited struct {
		row
		made T
	}
	p := &corpus.Pass[edited]{Cols: to.Cols, Begin: out.Begin}
	p.Work = func(_, i int, s *input.Source, it *input.Item) (e edited, err error) {
		if e.isKept, e.made, err = edit(i, s, it); err == nil && e.isKept {
			e.Row, err = out.Prepare(s, it, nil)
		}
		return e, err
	}
	p.Use = func(i int, s *input.Source, it *input.Item, e edited) error {
		if err := done(i, e.made); err != nil || !e.isKept {
			return err
		}
		return out.Write(s, it, e.Row)
	}
	return cmp.Or(p.Run(c), out.End(), c.Unchanged())
}

// newEdited returns a writer for documents whose texts may change, so nothing is copied as it stands in a file of Parquet or a workbook.
func newEdited(c *corpus.Corpus, to output.Target) (output.Writer, error) {
	format := output.FormatOf(to.Path)
	if format != "parquet" && format != "xlsx" {
		if out, _, err := output.NewCopy(to, c.NewSources(), c.Docs.Len(), 0); out != nil || err != nil {
			return out, err
		}
	} else if slices.ContainsFunc(c.NewSources(), func(s input.Source) bool { return s.Format == format }) {
		fmt.Fprintf(c.Log.Notes, "neardup: %s is rewritten from the values of the inputs: formulas, formats and column types may change\n", to.Path)
	}
	return newRows(c, to, func(int) ([]string, bool) { return nil, true })
}
