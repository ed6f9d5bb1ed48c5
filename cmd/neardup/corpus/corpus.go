// Package corpus has what all stages of a call know: its documents, the sources they are from, and where the call reports.
//
//	corpus.go   documents by their numbers
//	content.go  what documents are compared by
//	inputs.go   find the sources; keep copies of those that cannot be read twice
//	notes.go    what is counted and reported about how the inputs were read
//	pass.go     read the sources once more, for the outputs
//	rows.go     the rows of documents that were gathered by a field
//	saved.go    read and write files of saved fingerprints
package corpus

import (
	"fmt"
	"io"

	"github.com/neardup/neardup/cmd/neardup/input"
	"github.com/neardup/neardup/cmd/neardup/options"
	"github.com/neardup/neardup/cmd/neardup/progress"
	"github.com/neardup/neardup/internal/slots"
)

// A Corpus has the documents of a call, the old ones first.
type Corpus struct {
	Sources    []input.Source
	OldSources int // so many of the first sources are old
	Docs       Documents
	Old        int // so many of the first documents are of old sources

	Reading *options.Reading
	Stdin   io.Reader
	Log     Log
	Read    Counts
	Saved   Saved
	Rows    *Rows // of the documents, with --unit; otherwise nil
}

// A Log is where a call reports.
type Log struct {
	Notes    io.Writer // for what a quiet call does not say
	Errors   io.Writer
	Progress *progress.Bar
}

// Documents are in a column, since a slice of so many would be copied again and again as it grows.
type Documents = slots.Column[Doc]

// A Table finds documents by their numbers and a hash of what they are looked for by.
type Table = slots.Table

// A Doc is what the program keeps of a document.
type Doc struct {
	input.Place
	Offset  int64 // where it begins in the source
	ID      string
	Length  int32 // of the text, in characters; only with --keep longest, and of old documents with --state
	Content *Content
}

// New returns a corpus without documents.
func New(o *options.Options, stdin io.Reader, stderr io.Writer) *Corpus {
	c := &Corpus{Reading: &o.Reading, Stdin: stdin, Log: Log{Notes: stderr, Errors: stderr}, Saved: Saved{Bits: o.Method.Bits}}
	if o.Quiet {
		c.Log.Notes = io.Discard
	}
	c.Log.Progress = progress.New(c.Log.Notes)
	return c
}

// Doc returns the document with a number.
func (c *Corpus) Doc(n int) *Doc { return c.Docs.At(uint32(n)) }

// Numbers returns the numbers of all documents by their ids.
func (c *Corpus) Numbers() map[string]int {
	numbers := make(map[string]int, c.Docs.Len())
	for i := range c.Docs.Len() {
		numbers[c.Doc(i).ID] = i
	}
	return numbers
}

// New returns the number of new documents.
func (c *Corpus) New() int { return c.Docs.Len() - c.Old }

// NewSources returns the sources that are not old.
func (c *Corpus) NewSources() []input.Source { return c.Sources[c.OldSources:] }

// At returns a place as text: file:line, or "" for [input.NoPlace].
func (c *Corpus) At(p input.Place) string {
	if p == input.NoPlace {
		return ""
	}
	if c.Rows != nil {
		return c.Rows.at(p, c.OldSources)
	}
	return fmt.Sprintf("%s:%d", c.Sources[p.Source].Path, p.Line)
}

// Begin starts a stage that reads all sources. What is read is to be written to w as well.
func (c *Corpus) Begin(what string) (w io.Writer, done func()) {
	total := int64(0)
	for i := range c.Sources {
		if !c.Sources[i].Regular() {
			total = 0
			break
		}
		total += c.Sources[i].Info.Size()
	}
	c.Log.Progress.Begin(what, total, "B")
	return &progress.Counter{Bar: c.Log.Progress}, c.Log.Progress.End
}
