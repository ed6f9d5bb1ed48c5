package pipeline

import (
	"errors"
	"io"
	"strings"

	"github.com/neardup/neardup/cmd/neardup/input"
	"github.com/neardup/neardup/dedup"
)

// This file loads a collection for commands that look at single documents of it.

// A Loaded is a collection in a Deduplicator.
type Loaded struct {
	*collection
	Options      *Options
	Deduplicator *dedup.Deduplicator[int] // by the number of a document
	stdin        io.Reader
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
	return &Loaded{c, o, c.exact.d, stdin}, nil
}

// textsOf reads the sources again and calls use with the texts of the documents for which in is true, in their
// order. use may return false to end it.
func (c *Loaded) textsOf(in func(i int) bool, use func(i int, text string) bool) error {
	var x input.Decoder
	err := c.again(&c.Options.Reading, c.stdin, c.cols, func(i int, s *input.Source, it *input.Item) error {
		if !in(i) {
			return nil
		}
		d, err := it.Parse(s, c.cols, &x)
		if err == nil && !use(i, strings.Clone(d.Whole())) {
			err = errEnough
		}
		return err
	}, func(*input.Source) error { return nil })
	if err == errEnough {
		return nil
	}
	return err
}

// errEnough ends a reading.
var errEnough = errors.New("enough")

// Numbers returns the numbers of the documents by id.
func (c *Loaded) Numbers() map[string]int {
	numbers := make(map[string]int, c.docs.Len())
	for i := range c.docs.Len() {
		numbers[c.Doc(i).ID] = i
	}
	return numbers
}
