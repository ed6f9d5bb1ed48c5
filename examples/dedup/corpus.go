package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/examples/internal/cli"
)

// What is learned from all texts before they are fingerprinted: common lines and
// statistics. Both can be kept in a file for the next time.

// kept gives read the file at path, or, if there is none or path is empty, calls make and
// writes what that makes.
func kept(path string, outs *cli.Outputs, read func(io.Reader) error, make func(), write func(io.Writer) error) error {
	if path == "" {
		make()
		return nil
	}
	if info, err := os.Stat(path); path == "-" || err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s: must be an ordinary file, to be read another time", path)
	}
	f, err := os.Open(path)
	if err == nil {
		defer f.Close()
		plain, finish, err := cli.Decompress(f, path)
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

// eachText calls use with every text of all sources, by several workers at once. Equal
// texts come once. What cannot be read is reported when it is read again.
func (c *collection) eachText(o *options, what string, stdin io.Reader, use func(worker int, text string)) {
	progress, done := c.progress(what)
	defer done()
	var texts contents
	work := make(chan *batch, o.workers)
	var wg sync.WaitGroup
	for n := range o.workers {
		wg.Go(func() {
			for b := range work {
				for i := range b.items {
					it := &b.items[i]
					if it.old != nil || it.err != nil {
						continue
					}
					d, err := it.parse(&c.sources[it.source], o.cols)
					if err != nil {
						continue
					}
					text := d.whole()
					if _, isNew := texts.claim(o.textHash(text)); isNew {
						use(n, text)
					}
				}
			}
		})
	}
	c.read(o, stdin, progress, func(b *batch) bool {
		work <- b
		return true
	})
	close(work)
	wg.Wait()
}

// boilerplate makes fp leave out the lines that are common in the texts, or those
// that were found another time.
func (c *collection) boilerplate(o *options, fp *neardup.Fingerprinter, outs *cli.Outputs, stdin io.Reader) error {
	var lines *neardup.Boilerplate
	err := kept(o.lines, outs,
		func(r io.Reader) (err error) { lines, err = neardup.ReadBoilerplate(r); return err },
		func() {
			counted := make([]neardup.BoilerplateBuilder, o.workers)
			for n := range counted {
				counted[n].Normalizer = fp.Normalizer
			}
			c.eachText(o, "looking for common lines", stdin, func(n int, text string) { counted[n].Add(text) })
			for n := range counted[1:] {
				counted[0].Merge(&counted[1+n])
			}
			lines = counted[0].Build(o.boilerplate)
		},
		func(w io.Writer) error { _, err := lines.WriteTo(w); return err })
	fp.Normalizer.Boilerplate = lines
	return err
}

// weighting is a name that -weights takes.
type weighting struct {
	name, help string
	of         func(neardup.IDF) neardup.Weight
	statistics bool // whether it needs them
}

// weightings are in the order of the help.
var weightings = []weighting{
	{"count", "how often a feature occurs (the default)", func(neardup.IDF) neardup.Weight { return nil }, false},
	{"binary", "whether it occurs", func(neardup.IDF) neardup.Weight { return neardup.Constant(1) }, false},
	{"log", "1 + ln count", func(neardup.IDF) neardup.Weight { return neardup.LogCount }, false},
	{"tfidf", "count × inverse document frequency", func(idf neardup.IDF) neardup.Weight {
		idf.Smooth = true
		return neardup.Product{neardup.Count, idf}
	}, true},
	{"logidf", "(1 + ln count) × inverse document frequency: for revised texts, with -distance 13 or -bits 128 -distance 36", func(idf neardup.IDF) neardup.Weight {
		idf.Smooth = true
		return neardup.Product{neardup.LogCount, idf}
	}, true},
}

func weightsHelp() string {
	help := ""
	for _, w := range weightings {
		help += fmt.Sprintf("\n  %-7s %s", w.name, w.help)
	}
	return help + "\nThose with document frequencies read the inputs twice, or have them from -stats"
}

// weights returns what -weights names.
func (o *options) weighting() (*weighting, error) {
	var names []string
	for i := range weightings {
		if weightings[i].name == o.weights {
			return &weightings[i], nil
		}
		names = append(names, weightings[i].name)
	}
	return nil, fmt.Errorf("-weights %q: one of %s", o.weights, strings.Join(names, ", "))
}

// weigh makes fp weigh features, by statistics of the texts or of another time if needed.
func (c *collection) weigh(o *options, w *weighting, fp *neardup.Fingerprinter, outs *cli.Outputs, stdin io.Reader) error {
	if !w.statistics {
		fp.Weight = w.of(neardup.IDF{})
		return nil
	}
	var stats *neardup.Statistics
	err := kept(o.stats, outs,
		func(r io.Reader) (err error) { stats, err = neardup.ReadStatistics(r, fp); return err },
		func() {
			b := neardup.StatisticsBuilder{Fingerprinter: *fp}
			c.eachText(o, "collecting statistics", stdin, func(_ int, text string) { b.Add(text) })
			stats = b.Build()
		},
		func(w io.Writer) error { _, err := stats.WriteTo(w); return err })
	fp.Weight = w.of(neardup.IDF{Statistics: stats})
	return err
}
