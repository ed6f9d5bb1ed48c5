package pipeline

import (
	"io"

	"github.com/neardup/neardup/dedup"
)

// This file loads a collection for commands that look at single documents of it.

// A Loaded is a collection in a Deduplicator.
type Loaded struct {
	*collection
	Options      *Options
	Deduplicator *dedup.Deduplicator[int] // by the number of a document
}

// LoadCollection reads the inputs of a call.
func (o *Options) LoadCollection(stdin io.Reader, stderr io.Writer) (*Loaded, error) {
	fp, err := o.fingerprinter()
	if err != nil {
		return nil, err
	}
	c := o.NewCollection(stderr)
	if err := c.FindInputs(o, stdin); err != nil {
		return nil, err
	}
	if err := c.keepCopies(stdin, false); err != nil { // texts are read again
		return nil, err
	}
	if err := c.load(o, fp, stdin); err != nil {
		return nil, err
	}
	return &Loaded{c, o, c.exact.d}, nil
}
