// Package learn finds what must be known of all texts before the documents are loaded: how records are compared (--schema), common lines
// (--boilerplate) and document frequencies (--weights tfidf and logidf). Lines and frequencies can be kept in a file for later calls, so that all
// calls use the same.
package learn

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/cmd/neardup/cli"
	"github.com/neardup/neardup/cmd/neardup/corpus"
	"github.com/neardup/neardup/cmd/neardup/input"
	"github.com/neardup/neardup/cmd/neardup/options"
	"github.com/neardup/neardup/cmd/neardup/reading"
)

// A call is what there is to learn for, and from.
type call struct {
	*corpus.Corpus
	o    *options.Options
	fp   *neardup.Fingerprinter
	outs *cli.Outputs
}

// Features completes the fingerprinter of a call, and sets the fields of records. Files for later calls are made with outs.
func Features(c *corpus.Corpus, o *options.Options, fp *neardup.Fingerprinter, outs *cli.Outputs) error {
	of := &call{c, o, fp, outs}
	if o.Cols.IsRecord && !o.Learn {
		if err := of.learnSchema(); err != nil {
			return err
		}
	}
	if o.Boilerplate > 0 {
		if err := of.boilerplate(); err != nil {
			return err
		}
	}
	return Weight(c, o, fp, outs)
}

// Weight sets the weight of a fingerprinter, and the version of its fingerprints if they are to be saved.
func Weight(c *corpus.Corpus, o *options.Options, fp *neardup.Fingerprinter, outs *cli.Outputs) error {
	w, err := o.Weighting()
	if err == nil {
		err = (&call{c, o, fp, outs}).weigh(w)
	}
	if err == nil && o.FingerprintFiles() {
		c.Saved.Version, err = fp.Version()
	}
	return err
}

// learnSchema sets how the columns are compared.
func (c *call) learnSchema() error {
	schema, err := c.schema()
	if err != nil {
		return err
	}
	if c.o.Fields = schema.fields(); len(c.o.Fields) == 0 {
		return errors.New("the records have no columns to compare")
	}
	if !schema.said {
		fmt.Fprintf(c.Log.Notes, "neardup: columns are compared by this schema; to change it, edit it and pass it with --schema: %s\n", schema)
	}
	return nil
}

// kept reads the file at path with read. If path is empty or the file does not exist, kept calls
// make instead, and then writes the result to path with write.
func kept(path string, outs *cli.Outputs, read func(io.Reader) error, make func(), write func(io.Writer) error) error {
	if path == "" {
		make()
		return nil
	}
	if info, err := os.Stat(path); path == "-" || err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s: must be a regular file, so that a later run can read it", path)
	}
	f, err := os.Open(path)
	if err == nil {
		defer f.Close()
		plain, finish, err := cli.Decompress(f, path, 1<<27)
		if err != nil {
			return err
		}
		defer finish()
		if err := read(plain); err != nil {
			return fmt.Errorf("%s:1: %s", path, strings.TrimPrefix(err.Error(), "neardup: "))
		}
		return nil
	}
	if !os.IsNotExist(err) {
		return cli.InFile(path, err)
	}
	make()
	out, err := outs.Create(path, io.Discard)
	if err != nil {
		return err
	}
	if err := write(out); err != nil {
		return fmt.Errorf("%s: %s", path, strings.TrimPrefix(err.Error(), "neardup: "))
	}
	return nil
}

// eachText calls use with every text of all sources, from several workers at the same time. Each
// distinct text comes once. eachText skips what it cannot read: the next reading reports it.
func (c *call) eachText(what string, use func(worker int, text string)) {
	o := c.o
	progress, done := c.Begin(what)
	defer done()
	var texts corpus.Contents
	decoders := make([]input.Decoder, o.Workers)
	reading.Each(c.Reader(0, progress), func(worker int, b *input.Block) struct{} {
		for i := range b.Items {
			it := &b.Items[i]
			if it.Saved != nil || it.Err != nil || !o.Shard.IsMine(it.Place, len(c.Sources)) {
				continue
			}
			d, err := it.Parse(&c.Sources[it.Source], o.Cols, &decoders[worker])
			if err != nil {
				continue
			}
			text := d.Whole()
			if _, isNew := texts.Claim(o.TextHash(text), &corpus.Content{}); isNew {
				use(worker, text) // and may keep parts of it, so the block is not used again
			}
		}
		return struct{}{}
	}, func(*reading.Block[struct{}]) error { return nil })
}

// boilerplate makes fp ignore common lines. They are the lines of the --lines file if it exists,
// otherwise all lines that occur in at least --boilerplate texts.
func (c *call) boilerplate() error {
	o, fp := c.o, c.fp
	var lines *neardup.Boilerplate
	err := kept(o.Lines, c.outs,
		func(r io.Reader) (err error) { lines = &neardup.Boilerplate{}; _, err = lines.ReadFrom(r); return err },
		func() {
			counted := make([]neardup.BoilerplateBuilder, o.Workers)
			for n := range counted {
				counted[n].Normalizer = fp.Normalizer
			}
			c.eachText("looking for common lines", func(n int, text string) { counted[n].Add(text) })
			for n := range counted[1:] {
				counted[0].Merge(&counted[1+n])
			}
			lines = counted[0].Build(o.Boilerplate)
		},
		func(w io.Writer) error { _, err := lines.WriteTo(w); return err })
	fp.Normalizer.Boilerplate = lines
	return err
}

// weigh sets the weight of the fingerprinter. If it needs document frequencies, weigh reads them from the --stats file or counts them.
func (c *call) weigh(w *options.Weighting) error {
	fp := c.fp
	if !w.NeedsStatistics {
		fp.Weight = w.Of(neardup.IDF{})
		return nil
	}
	var stats *neardup.DocumentFrequencies
	err := kept(c.o.Stats, c.outs,
		func(r io.Reader) (err error) { stats, err = neardup.ReadDocumentFrequencies(r, fp); return err },
		func() {
			b := neardup.DocumentFrequenciesBuilder{Fingerprinter: *fp}
			c.eachText("collecting statistics", func(_ int, text string) { b.Add(neardup.Text(text)) })
			stats = b.Build()
		},
		func(w io.Writer) error { _, err := stats.WriteTo(w); return err })
	fp.Weight = w.Of(neardup.IDF{Frequencies: stats})
	return err
}
