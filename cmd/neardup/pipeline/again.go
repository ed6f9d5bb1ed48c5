package pipeline

import (
	"fmt"
	"io"
	"sort"
	"strings"

	"github.com/neardup/neardup/cmd/neardup/input"
	"github.com/neardup/neardup/cmd/neardup/reading"
)

// This file reads the sources once more, for what the outputs have of them, so the program does not keep all texts in memory.

// A pass reads sources once more, by several workers.
type pass[T any] struct {
	first int // the number of the first source
	next  int // and of the first document in it
	cols  input.Columns
	frees bool // nobody keeps parts of lines

	// work is called with the item of each document, by several goroutines, and use then with what it has made, in the order of the documents.
	// Before the first one of a source with a header, begin is called. work and begin may be nil.
	work  func(worker, i int, s *input.Source, it *input.Item) (T, error)
	use   func(i int, s *input.Source, it *input.Item, made T) error
	begin func(s *input.Source) error
}

// newPass returns a pass over the new sources.
func (c *collection) newPass(cols input.Columns) *pass[struct{}] {
	return &pass[struct{}]{first: c.oldSources, next: c.old, cols: cols}
}

// An again is what a worker has made of the item of a document.
type again[T any] struct {
	doc, item int // the numbers of the document, and of the item in the block
	made      T
	err       error
}

// run reads the sources. It returns the first error of the functions, and an error if the documents are not there any more.
func (p *pass[T]) run(c *collection, o *Reading, stdin io.Reader) error {
	r := c.reader(o, p.first, stdin, io.Discard)
	r.Cols = p.cols
	r.Saved = func(*input.Source, int, io.Reader, func(input.Item) bool) error { return nil } // which have no texts
	first, next, begun := p.next, p.next, false
	err := reading.Each(r, func(worker int, b *input.Block) []again[T] {
		return p.block(c, worker, first, b)
	}, func(b *reading.Block[[]again[T]]) error {
		s := &c.Sources[b.Source]
		if (len(b.Made) > 0 || b.Last && !b.Shut) && s.Header != nil && !begun && p.begin != nil { // it may have no documents
			begun = true
			if err := p.begin(s); err != nil {
				return err
			}
		}
		for _, x := range b.Made {
			if x.doc != next {
				return hasChanged(s)
			}
			next++
			if x.err != nil {
				return x.err
			}
			if err := p.use(x.doc, s, &b.Items[x.item], x.made); err != nil {
				return err
			}
		}
		if p.frees {
			b.Release()
		}
		if !b.Last {
			return nil
		}
		begun = false
		if b.Err != nil && !o.SkipBad { // or the first reading has counted it
			return b.Err
		}
		for s.Format == input.Fingerprints && next < c.docs.Len() && int(c.Doc(next).Source) == b.Source {
			next++
		}
		return nil
	})
	if err == nil && next < c.docs.Len() {
		err = hasChanged(&c.Sources[c.Doc(next).Source])
	}
	return err
}

// hasChanged is the error of a source in which documents are not there any more.
func hasChanged(s *input.Source) error {
	return fmt.Errorf("%s: the file changed while it was being read", s.Path)
}

// block finds the documents of a block, of those from a number on, and calls work with their items.
func (p *pass[T]) block(c *collection, worker, from int, b *input.Block) (made []again[T]) {
	if len(b.Items) == 0 {
		return nil
	}
	isBefore := func(x, y input.Place) bool { return x.Source < y.Source || x.Source == y.Source && x.Line < y.Line }
	doc := from + sort.Search(c.docs.Len()-from, func(i int) bool { return !isBefore(c.Doc(from+i).Place, b.Items[0].Place) })
	made = make([]again[T], 0, len(b.Items))
	for i := range b.Items {
		it := &b.Items[i]
		for doc < c.docs.Len() && isBefore(c.Doc(doc).Place, it.Place) { // it is not there any more
			doc++
		}
		if doc == c.docs.Len() || c.Doc(doc).Place != it.Place || it.Err != nil {
			continue
		}
		x := again[T]{doc: doc, item: i}
		if p.work != nil {
			x.made, x.err = p.work(worker, doc, &c.Sources[b.Source], it)
		}
		made = append(made, x)
		doc++
	}
	return made
}

// eachWholeText reads all sources once more, old ones too, and calls use with the text of each wanted document, in their order. Documents of earlier
// calls (--state) are in no source. Several goroutines call wanted.
func (c *collection) eachWholeText(o *Reading, stdin io.Reader, wanted func(i int) bool, use func(i int, text string) error) error {
	decoders := make([]input.Decoder, o.Workers)
	p := &pass[string]{cols: c.cols, frees: true}
	if c.exact != nil && c.exact.state != nil {
		p.next = c.old
	}
	p.work = func(worker, i int, s *input.Source, it *input.Item) (string, error) {
		if !wanted(i) {
			return "", nil
		}
		_, text, err := it.WholeText(s, c.cols, &decoders[worker])
		return strings.Clone(text), err
	}
	p.use = func(i int, _ *input.Source, _ *input.Item, text string) error {
		if !wanted(i) {
			return nil
		}
		return use(i, text)
	}
	return p.run(c, o, stdin)
}
