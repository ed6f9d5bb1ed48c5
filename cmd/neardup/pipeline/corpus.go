package pipeline

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/cmd/neardup/cli"
	"github.com/neardup/neardup/cmd/neardup/input"
	"github.com/neardup/neardup/cmd/neardup/reading"
)

// This file has what the program learns from all texts before it fingerprints them: common lines
// (--boilerplate) and document frequencies (--weights tfidf and logidf). Both can be kept in a file
// for later calls, so that all calls use the same.

// kept reads the file at path with read. If path is empty or the file does not exist, kept calls
// make instead, and then writes the result to path with write.
func kept(path string, outs *cli.Outputs, read func(io.Reader) error, make func(), write func(io.Writer) error) error {
	if path == "" {
		make()
		return nil
	}
	if info, err := os.Stat(path); path == "-" || err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s: must be an ordinary file, so that a later call can read it", path)
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
func (c *collection) eachText(o *Options, what string, stdin io.Reader, use func(worker int, text string)) {
	progress, done := c.reading(what)
	defer done()
	var texts contents
	decoders := make([]input.Decoder, o.Workers)
	reading.Each(c.reader(&o.Reading, 0, stdin, progress), func(worker int, b *input.Block) struct{} {
		for i := range b.Items {
			it := &b.Items[i]
			if it.Saved != nil || it.Err != nil || !o.Shard.isMine(it.Place, len(c.Sources)) {
				continue
			}
			d, err := it.Parse(&c.Sources[it.Source], o.Cols, &decoders[worker])
			if err != nil {
				continue
			}
			text := d.Whole()
			if _, isNew := texts.claim(o.textHash(text), &content{}); isNew {
				use(worker, text) // and may keep parts of it, so the block is not used again
			}
		}
		return struct{}{}
	}, func(*reading.Block[struct{}]) error { return nil })
}

// boilerplate makes fp ignore common lines. They are the lines of the --lines file if it exists,
// otherwise all lines that occur in at least --boilerplate texts.
func (c *collection) boilerplate(o *Options, fp *neardup.Fingerprinter, outs *cli.Outputs, stdin io.Reader) error {
	var lines *neardup.Boilerplate
	err := kept(o.Lines, outs,
		func(r io.Reader) (err error) { lines = &neardup.Boilerplate{}; _, err = lines.ReadFrom(r); return err },
		func() {
			counted := make([]neardup.BoilerplateBuilder, o.Workers)
			for n := range counted {
				counted[n].Normalizer = fp.Normalizer
			}
			c.eachText(o, "looking for common lines", stdin, func(n int, text string) { counted[n].Add(text) })
			for n := range counted[1:] {
				counted[0].Merge(&counted[1+n])
			}
			lines = counted[0].Build(o.Boilerplate)
		},
		func(w io.Writer) error { _, err := lines.WriteTo(w); return err })
	fp.Normalizer.Boilerplate = lines
	return err
}

// weighting is a weight that --weights can name.
type weighting struct {
	Name, help string
	of         func(neardup.IDF) neardup.Weight
	statistics bool // whether the weight needs document frequencies
}

// Weightings has all of them, in the order of the help.
var Weightings = []weighting{
	{"count", "how often the feature occurs (the default)", func(neardup.IDF) neardup.Weight { return nil }, false},
	{"binary", "1 for every feature", func(neardup.IDF) neardup.Weight { return neardup.Constant(1) }, false},
	{"log", "1 + ln count", func(neardup.IDF) neardup.Weight { return neardup.LogCount }, false},
	{"tfidf", "count × inverse document frequency", func(idf neardup.IDF) neardup.Weight {
		idf.Smooth = true
		return neardup.Product{neardup.Count, idf}
	}, true},
	{"logidf", "(1 + ln count) × inverse document frequency: for revised texts, with --distance 13 or --bits 128 --distance 36", func(idf neardup.IDF) neardup.Weight {
		idf.Smooth = true
		return neardup.Product{neardup.LogCount, idf}
	}, true},
}

// WeightsHelp describes the weights.
func WeightsHelp() string {
	var names []string
	for _, w := range Weightings {
		names = append(names, w.Name+" ("+w.help+")")
	}
	return strings.Join(names, ", ") + ". tfidf and logidf read the inputs twice, unless --stats has the document frequencies"
}

// weighting returns the weight that --weights names.
func (o *Options) weighting() (*weighting, error) {
	var names []string
	for i := range Weightings {
		if Weightings[i].Name == o.Weights {
			return &Weightings[i], nil
		}
		names = append(names, Weightings[i].Name)
	}
	return nil, fmt.Errorf("--weights %q: must be one of %s", o.Weights, strings.Join(names, ", "))
}

// weigh sets the weight of fp. If the weight needs document frequencies, weigh reads them from the
// --stats file or counts them.
func (c *collection) weigh(o *Options, w *weighting, fp *neardup.Fingerprinter, outs *cli.Outputs, stdin io.Reader) error {
	if !w.statistics {
		fp.Weight = w.of(neardup.IDF{})
		return nil
	}
	var stats *neardup.Statistics
	err := kept(o.Stats, outs,
		func(r io.Reader) (err error) { stats, err = neardup.ReadStatistics(r, fp); return err },
		func() {
			b := neardup.StatisticsBuilder{Fingerprinter: *fp}
			c.eachText(o, "collecting statistics", stdin, func(_ int, text string) { b.Add(neardup.Text(text)) })
			stats = b.Build()
		},
		func(w io.Writer) error { _, err := stats.WriteTo(w); return err })
	fp.Weight = w.of(neardup.IDF{Statistics: stats})
	return err
}
