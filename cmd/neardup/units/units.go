// Package units makes one document of all rows with the same value of a field (--unit): the files of a repository, the messages of a thread, the
// pages of a book. The rows need not stand together.
//
// The rows are loaded as a corpus of their own, whose ids are the values of the field, and their texts go to a temporary file. From that, a second file
// gets a line of JSON for each unit, in the order in which the units begin, with the texts of its rows in their order. The file is the source of a
// corpus that all later stages read like any other; only outputs with the rows go back to the first one ([corpus.Corpus.Rows]). The memory is that for
// the places of the rows and the names of the units.
package units

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/cmd/neardup/cli"
	"github.com/neardup/neardup/cmd/neardup/corpus"
	"github.com/neardup/neardup/cmd/neardup/input"
	"github.com/neardup/neardup/cmd/neardup/load"
	"github.com/neardup/neardup/cmd/neardup/options"
	"github.com/neardup/neardup/cmd/neardup/rows"
)

// Gather loads the rows of a corpus without documents, and returns the corpus of the units with the options for its stages. Without --unit it returns
// what it is given. The caller closes the copies of both.
func Gather(c *corpus.Corpus, o *options.Options, fp *neardup.Fingerprinter) (*corpus.Corpus, *options.Options, error) {
	if o.Unit == "" {
		return c, o, nil
	}
	for _, s := range c.Sources {
		if s.Format == input.Fingerprints {
			return nil, nil, fmt.Errorf("%s: --unit cannot be used with saved fingerprints, which have no rows", s.Path)
		}
	}
	texts, err := input.Temporary()
	if err != nil {
		return nil, nil, err
	}
	defer texts.Close()
	g := &gathering{texts: texts, to: bufio.NewWriterSize(texts, 1<<20), oldSources: int32(c.OldSources), numbers: [2]map[string]int32{{}, {}}}
	own := *o
	own.Cols.ID, own.Cols.IDGiven, own.Cols.WithoutID = o.Unit, false, "line"
	own.SameID, own.Empty, own.State, own.Save = options.AnyID, "keep", "", ""
	own.Method.Name = "auto" // so that texts are taken
	c.Reading = &own.Reading
	l := load.Loader{Corpus: c, Options: &own, Marker: load.Marker{Method: &own.Method, Fingerprinter: fp}, Take: g.take}
	if err := cmp.Or(l.Run(), g.to.Flush()); err != nil {
		return nil, nil, err
	}
	fmt.Fprintf(c.Log.Notes, "neardup: %s by %q\n", cli.Count(c.Docs.Len(), "row is one document", fmt.Sprintf("rows are %s", cli.Count(len(g.units), "document", "documents"))), o.Unit)
	return g.corpus(c, o)
}

// A row is where the text of a row is in the temporary file, and the next row of its unit, or -1.
type row struct {
	at   int64
	size int32
	next int32
}

// A unit is a value of the field, and the first and last of its rows.
type unit struct {
	name        string
	first, last int32
}

// gathering is what Gather knows while the rows are loaded.
type gathering struct {
	texts      *os.File
	to         *bufio.Writer
	end        int64 // of what was written to it
	oldSources int32
	rows       []row
	units      []unit
	of         []int32             // the unit of each row
	numbers    [2]map[string]int32 // of the units of new rows, and of old ones
}

// take implements [load.Loader.Take].
func (g *gathering) take(some []load.Taken) error {
	for _, t := range some {
		if _, err := g.to.WriteString(t.Text); err != nil {
			return err
		}
		n := int32(len(g.rows))
		g.rows = append(g.rows, row{g.end, int32(len(t.Text)), -1})
		g.end += int64(len(t.Text))
		numbers := g.numbers[0]
		if t.Source < g.oldSources {
			numbers = g.numbers[1]
		}
		u, isKnown := numbers[t.ID]
		if isKnown {
			g.rows[g.units[u].last].next, g.units[u].last = n, n
		} else {
			u = int32(len(g.units))
			numbers[t.ID] = u
			g.units = append(g.units, unit{t.ID, n, n})
		}
		g.of = append(g.of, u)
	}
	return nil
}

// corpus returns the corpus of the units, with a source for the old ones if there are old sources.
func (g *gathering) corpus(c *corpus.Corpus, o *options.Options) (of *corpus.Corpus, own *options.Options, err error) {
	changed := *o
	own = &changed
	own.Unit, own.MaxLine = "", mostLine
	own.Cols = input.Columns{ID: "id", IDGiven: true, Text: "text", WithoutID: "line", Room: o.Cols.Room}
	of = &corpus.Corpus{Reading: &own.Reading, Log: c.Log, Saved: c.Saved}
	of.Read.Bad = c.Read.Bad
	firsts := make([]int32, len(g.units))
	for n, u := range g.units {
		firsts[n] = u.first
	}
	old := len(g.numbers[1]) // which come first, as their rows do
	if c.OldSources > 0 {
		of.OldSources = 1
		err = g.add(of, o.Unit, g.units[:old])
	}
	if err == nil {
		err = g.add(of, o.Unit, g.units[old:])
	}
	if err != nil {
		of.CloseCopies()
		return nil, nil, err
	}
	of.Rows = &corpus.Rows{Corpus: c, Units: g.of, Firsts: firsts, Old: old}
	return of, own, nil
}

// add adds a source with units.
func (g *gathering) add(of *corpus.Corpus, name string, units []unit) error {
	file, err := input.Temporary()
	if err != nil {
		return err
	}
	of.Sources = append(of.Sources, input.Source{Path: name, Format: "jsonl", Copy: file, Room: of.Reading.Cols.Room})
	return g.write(file, units)
}

// write writes a line for each unit.
func (g *gathering) write(file *os.File, units []unit) error {
	w := bufio.NewWriterSize(file, 1<<20)
	var text, line []byte
	for _, u := range units {
		text = text[:0]
		for n := u.first; n >= 0; n = g.rows[n].next {
			if n != u.first {
				text = append(text, "\n\n"...)
			}
			r := g.rows[n]
			from := len(text)
			text = append(text, make([]byte, r.size)...)
			if _, err := g.texts.ReadAt(text[from:], r.at); err != nil && !errors.Is(err, io.EOF) {
				return err
			}
		}
		if len(text) > mostBytes {
			return fmt.Errorf("%s: %d bytes of text are one document; the most are %d", u.name, len(text), mostBytes)
		}
		line = rows.AppendJSON(line[:0], rows.Struct{{Name: "id", Value: u.name}, {Name: "text", Value: string(text)}})
		if _, err := w.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return w.Flush()
}

const (
	mostLine  = 1 << 30      // the most that --max-line may be
	mostBytes = mostLine / 7 // of the text of a unit: in JSON a byte takes at most six
)
