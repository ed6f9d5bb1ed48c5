package corpus

import (
	"fmt"
	"io"
	"sort"
	"strings"

	"github.com/neardup/neardup/cmd/neardup/input"
	"github.com/neardup/neardup/cmd/neardup/options"
	"github.com/neardup/neardup/cmd/neardup/reading"
)

// This file reads the sources once more, for what the outputs have of them, so the program does not keep all texts in memory.

// Reader returns what reads the sources from one on.
func (c *Corpus) Reader(first int, progress io.Writer) *reading.Reader {
	o := c.Reading
	return &reading.Reader{Sources: c.Sources, First: first, Cols: o.Cols, MaxLine: o.MaxLine, Workers: o.Workers, Room: options.Room(o.Memory), Stdin: c.Stdin, Progress: progress,
		Saved: func(s *input.Source, n int, r io.Reader, yield func(input.Item) bool) error {
			return ReadSaved(s, n, r, c.Saved, yield)
		}}
}

// A Pass reads sources once more, by several workers.
type Pass[T any] struct {
	Cols  input.Columns
	Frees bool // nobody keeps parts of lines

	// Work is called with the item of each document, by several goroutines, and Use then with what it has made, in the order of the documents.
	// Before the first one of a source with a header, Begin is called. Work and Begin may be nil.
	Work  func(worker, i int, s *input.Source, it *input.Item) (T, error)
	Use   func(i int, s *input.Source, it *input.Item, made T) error
	Begin func(s *input.Source) error

	withOld bool // old sources are read too
}

// An again is what a worker has made of the item of a document.
type again[T any] struct {
	doc, item int // the numbers of the document, and of the item in the block
	made      T
	err       error
}

// Run reads the new sources. It returns the first error of the functions, and an error if the documents are not there any more.
func (p *Pass[T]) Run(c *Corpus) error {
	first, from := c.OldSources, c.Old
	if p.withOld && c.OldSources > 0 { // otherwise old documents are those of earlier calls, which are in no source
		first, from = 0, 0
	}
	r := c.Reader(first, io.Discard)
	r.Cols = p.Cols
	r.Saved = func(*input.Source, int, io.Reader, func(input.Item) bool) error { return nil } // which have no texts
	now := passing[T]{Pass: p, corpus: c, next: from}
	err := reading.Each(r, func(worker int, b *input.Block) []again[T] { return p.block(c, worker, from, b) }, now.take)
	if err == nil && now.next < c.Docs.Len() {
		err = hasChanged(&c.Sources[c.Doc(now.next).Source])
	}
	return err
}

// A passing is a Pass on its way.
type passing[T any] struct {
	*Pass[T]
	corpus *Corpus
	next   int  // the number of the next document
	begun  bool // the source has
}

// take takes what a worker has made of a block.
func (p *passing[T]) take(b *reading.Block[[]again[T]]) error {
	s := &p.corpus.Sources[b.Source]
	isThere := len(b.Made) > 0 || b.Last && !b.Shut // it may have no documents
	if isThere && s.Header != nil && !p.begun && p.Begin != nil {
		p.begun = true
		if err := p.Begin(s); err != nil {
			return err
		}
	}
	for _, x := range b.Made {
		if x.doc != p.next {
			return hasChanged(s)
		}
		p.next++
		if x.err != nil {
			return x.err
		}
		if err := p.Use(x.doc, s, &b.Items[x.item], x.made); err != nil {
			return err
		}
	}
	if p.Frees {
		b.Release()
	}
	if b.Last {
		return p.end(b.Source, b.Err)
	}
	return nil
}

// end ends a source, for a reason if it cannot be read any further.
func (p *passing[T]) end(source int, err error) error {
	c := p.corpus
	p.begun = false
	for c.Sources[source].Format == input.Fingerprints && p.next < c.Docs.Len() && int(c.Doc(p.next).Source) == source {
		p.next++ // it has no texts
	}
	if c.Reading.SkipBad { // the first reading has counted it
		return nil
	}
	return err
}

// hasChanged is the error of a source in which documents are not there any more.
func hasChanged(s *input.Source) error {
	return fmt.Errorf("%s: the file changed while it was being read", s.Path)
}

// block finds the documents of a block, of those from a number on, and calls work with their items.
func (p *Pass[T]) block(c *Corpus, worker, from int, b *input.Block) (made []again[T]) {
	if len(b.Items) == 0 {
		return nil
	}
	isBefore := func(x, y input.Place) bool { return x.Source < y.Source || x.Source == y.Source && x.Line < y.Line }
	doc := from + sort.Search(c.Docs.Len()-from, func(i int) bool { return !isBefore(c.Doc(from+i).Place, b.Items[0].Place) })
	made = make([]again[T], 0, len(b.Items))
	for i := range b.Items {
		it := &b.Items[i]
		for doc < c.Docs.Len() && isBefore(c.Doc(doc).Place, it.Place) { // it is not there any more
			doc++
		}
		if doc == c.Docs.Len() || c.Doc(doc).Place != it.Place || it.Err != nil {
			continue
		}
		x := again[T]{doc: doc, item: i}
		if p.Work != nil {
			x.made, x.err = p.Work(worker, doc, &c.Sources[b.Source], it)
		}
		made = append(made, x)
		doc++
	}
	return made
}

// EachWholeText reads all sources once more, old ones too, and calls use with the text of each wanted document, in their order. Documents of earlier
// calls (--state) are in no source. Several goroutines call wanted.
func (c *Corpus) EachWholeText(wanted func(i int) bool, use func(i int, text string) error) error {
	cols := c.Reading.Cols
	decoders := make([]input.Decoder, c.Reading.Workers)
	p := &Pass[string]{Cols: cols, Frees: true, withOld: true}
	p.Work = func(worker, i int, s *input.Source, it *input.Item) (string, error) {
		if !wanted(i) {
			return "", nil
		}
		_, text, err := it.WholeText(s, cols, &decoders[worker])
		return strings.Clone(text), err
	}
	p.Use = func(i int, _ *input.Source, _ *input.Item, text string) error {
		if !wanted(i) {
			return nil
		}
		return use(i, text)
	}
	return p.Run(c)
}
