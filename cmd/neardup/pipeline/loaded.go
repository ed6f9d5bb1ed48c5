package pipeline

import (
	"cmp"
	"io"

	"github.com/neardup/neardup/cmd/neardup/corpus"
	"github.com/neardup/neardup/cmd/neardup/group"
	"github.com/neardup/neardup/cmd/neardup/options"
	"github.com/neardup/neardup/cmd/neardup/write"
	"github.com/neardup/neardup/dedup"
)

// This file loads a collection for commands that look at single documents of it.

// A Loaded is a collection in a Deduplicator.
type Loaded struct {
	call
	exact *group.Exact
}

// Load reads the inputs of a call with the method auto.
func Load(o *options.Options, stdin io.Reader, stderr io.Writer) (*Loaded, error) {
	fp, err := o.Fingerprinter()
	if err != nil {
		return nil, err
	}
	c, err := corpus.Open(o, stdin, stderr)
	if err != nil {
		return nil, err
	}
	l := &Loaded{call: call{Corpus: c, o: o, fp: fp}}
	if err := l.KeepCopies(false); err != nil { // texts are read again
		return nil, err
	}
	if l.exact, err = group.NewExact(l.Corpus, o, fp); err != nil {
		return nil, err
	}
	return l, cmp.Or(l.load(nil, l.exact.Take), l.exact.Finish())
}

// Deduplicator returns the Deduplicator, in which ids are the numbers of documents.
func (l *Loaded) Deduplicator() *dedup.Deduplicator[int] { return l.exact.Deduplicator() }

// Options returns the settings of the call.
func (l *Loaded) Options() *options.Options { return l.o }

// Report groups the documents, and writes the page in which people look at pairs. It returns how many pairs that has.
func (l *Loaded) Report(w io.Writer) (int, error) {
	g, err := l.exact.Group(false)
	if err != nil {
		return 0, err
	}
	r := &write.Results{Corpus: l.Corpus, Options: l.o, Groups: g, Engine: l.exact}
	return r.Report(w)
}
