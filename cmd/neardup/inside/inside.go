// Package inside has the commands that look inside documents: passages, which finds what they share, and decontaminate, which finds what leaks from
// tests into them.
package inside

import (
	"cmp"
	"fmt"
	"io"
	"time"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/cmd/neardup/cli"
	"github.com/neardup/neardup/cmd/neardup/corpus"
	"github.com/neardup/neardup/cmd/neardup/load"
	"github.com/neardup/neardup/cmd/neardup/options"
)

// This file has what both commands need.

// open returns a corpus with the sources of a call, and how texts become features.
func open(o *options.Options, stdin io.Reader, stderr io.Writer) (*corpus.Corpus, *neardup.Fingerprinter, error) {
	fp, err := o.Fingerprinter()
	if err != nil {
		return nil, nil, err
	}
	c, err := corpus.Open(o, stdin, stderr)
	return c, fp, err
}

// loadTexts loads the documents of a call. take gets them on a goroutine of its own.
func loadTexts(c *corpus.Corpus, o *options.Options, fp *neardup.Fingerprinter, take func(documents <-chan []load.Taken) error) error {
	feed := load.NewFeed(take)
	l := load.Loader{Corpus: c, Options: o, Marker: load.Marker{Method: &o.Method, Fingerprinter: fp}, Take: feed.Take}
	return cmp.Or(l.Run(), feed.Finish())
}

// sayRead prints how much was read.
func sayRead(c *corpus.Corpus, w io.Writer, took time.Duration) {
	fmt.Fprintf(w, "%s, %s of text in %.1f s\n", cli.Count(c.New(), "document", "documents"), cli.Size(c.Read.Bytes), took.Seconds())
	if c.Old > 0 {
		fmt.Fprintln(w, "and", cli.Count(c.Old, "old document", "old documents"))
	}
	if c.Read.Bad > 0 {
		fmt.Fprintf(w, "lines or files skipped: %d\n", c.Read.Bad)
	}
}
