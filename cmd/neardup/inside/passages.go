package inside

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/cmd/neardup/cleaned"
	"github.com/neardup/neardup/cmd/neardup/cli"
	"github.com/neardup/neardup/cmd/neardup/corpus"
	"github.com/neardup/neardup/cmd/neardup/input"
	"github.com/neardup/neardup/cmd/neardup/load"
	"github.com/neardup/neardup/cmd/neardup/options"
	"github.com/neardup/neardup/cmd/neardup/output"
	"github.com/neardup/neardup/cmd/neardup/review"
	"github.com/neardup/neardup/cmd/neardup/units"
	"github.com/neardup/neardup/passages"
)

// This file has the command passages: what documents share inside, how much of each stands in others, and the collection without it.

// Passages has the settings of the command. Where it writes to, Writing says: Out is the collection without what stands in an earlier place,
// Audit what was cut, Passages and Coverage are tables.
type Passages struct {
	Length passages.Length     // [passages.Length.WithDefaults]
	Cut    passages.CutOptions // of which MinDocuments counts for the table and the report too
	Mask   string              // what is put in the place of what was cut
	Least  int                 // documents of which fewer words or characters are left are dropped
}

// passageColumns are those of the table of passages: a row for each place.
var passageColumns = []string{"passage", "tokens", "documents", "places", "id", "at", "from", "to", "text"}

// A passageRun is a run of the command: a collection in a Finder.
type passageRun struct {
	*corpus.Corpus
	finder *passages.Finder[int]
	to     struct{ out, audit, passages, coverage, report *cli.Output }
	shown  []passages.Passage[int] // in the report: those of which the most would go, first
	found  struct {
		passages, places, longest, most int
		documents, cut, dropped, uncut  int
	}
}

// FindPassages runs the command passages.
func FindPassages(o *options.Options, p *Passages, outs *cli.Outputs, stdin io.Reader, stdout, stderr io.Writer) error {
	defer outs.Discard()
	start := time.Now()
	defer options.LimitMemory(o.Memory)()
	all, fp, err := open(o, stdin, stderr)
	if err != nil {
		return err
	}
	c := &passageRun{Corpus: all}
	defer all.CloseCopies()
	if err := c.KeepCopies(false); err != nil {
		return err
	}
	summary, err := outs.CreateAll(stdout, c.Log.Errors, cli.Path{Name: o.Out, To: &c.to.out}, cli.Path{Name: o.Audit, To: &c.to.audit},
		cli.Path{Name: o.Passages, To: &c.to.passages}, cli.Path{Name: o.Coverage, To: &c.to.coverage}, cli.Path{Name: o.Report, To: &c.to.report})
	if err == nil && o.Out != "" {
		err = output.Check(o.Out, c.NewSources())
	}
	if err != nil {
		return err
	}
	if c.Corpus, o, err = units.Gather(all, o, fp); err != nil {
		return err
	}
	defer c.CloseCopies() // those of the units
	if err := c.fill(o, p.Length, fp); err != nil {
		return err
	}
	for _, step := range []func() error{
		func() error { return c.writePassages(p, o.Passages) },
		func() error { return c.writeCoverage(o.Coverage) },
		func() error { return c.writeReport(p) },
		func() error { return c.writeCut(p, o) },
		outs.Commit,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	if !o.Quiet {
		c.say(summary, p, time.Since(start))
	}
	return nil
}

// fill loads all documents into a Finder.
func (c *passageRun) fill(o *options.Options, length passages.Length, fp *neardup.Fingerprinter) (err error) {
	what := "" // is being done
	tell := func(stage string, done float64) {
		if stage != what {
			what = stage
			c.Log.Progress.Begin(stage, 100, "")
		}
		c.Log.Progress.Set(int64(100 * done))
	}
	c.finder, err = passages.New[int](passages.Options{Length: length, Memory: o.Memory / 2, Progress: tell})
	if err != nil {
		return err
	}
	return loadTexts(c.Corpus, o, fp, func(documents <-chan []load.Taken) error {
		return c.finder.AddAll(context.Background(), load.Each(documents, load.Number, load.Text))
	})
}

// writePassages writes a row for each place. The text stands in the row of the first one.
func (c *passageRun) writePassages(p *Passages, path string) error {
	if c.to.passages == nil && c.to.report == nil && (c.to.coverage != nil || c.to.out != nil) {
		return nil
	}
	var t *output.Table
	if c.to.passages != nil {
		t = output.NewTable(c.to.passages, path, passageColumns...)
	}
	for x, err := range c.finder.PassagesSince(context.Background(), c.Old) {
		if err != nil {
			return err
		}
		if x.Documents < p.Cut.MinDocuments {
			continue
		}
		c.found.passages++
		c.found.places += len(x.Places)
		c.found.longest, c.found.most = max(c.found.longest, x.Tokens), max(c.found.most, x.Documents)
		if c.to.report != nil {
			c.show(x)
		}
		if t != nil {
			if err := c.writePlaces(t, &x); err != nil {
				return err
			}
		}
	}
	c.Log.Progress.End()
	if t == nil {
		return nil
	}
	return t.End()
}

// writePlaces writes the rows of a passage.
func (c *passageRun) writePlaces(t *output.Table, x *passages.Passage[int]) error {
	for i, at := range x.Places {
		var text any
		if i == 0 {
			var err error
			if text, err = c.finder.Text(at); err != nil {
				return err
			}
		}
		doc := c.Doc(at.Number)
		if err := t.Row(c.found.passages, at.Tokens, x.Documents, len(x.Places), doc.ID, c.At(doc.Place), at.From, at.To, text); err != nil {
			return err
		}
	}
	return nil
}

// So many passages are in a report, and so many places of each, with about so many bytes of the text around them.
const (
	mostShown    = 300
	mostPlaces   = 20
	around       = 160
	mostInReport = 4000
)

// show takes note of a passage for the report, if it is one of those of which the most would go.
func (c *passageRun) show(x passages.Passage[int]) {
	gain := func(p passages.Passage[int]) int { return p.Tokens * (len(p.Places) - 1) }
	at, _ := slices.BinarySearchFunc(c.shown, gain(x), func(p passages.Passage[int], n int) int { return cmp.Compare(n, gain(p)) })
	for at < len(c.shown) && gain(c.shown[at]) == gain(x) { // the first ones stay first
		at++
	}
	if at < mostShown {
		c.shown = slices.Insert(c.shown, at, x)
		c.shown = c.shown[:min(len(c.shown), mostShown)]
	}
}

// writeReport writes the page that shows passages.
func (c *passageRun) writeReport(p *Passages) error {
	if c.to.report == nil {
		return nil
	}
	page := review.PassagePage{Title: "Passages", Summary: c.passagesFound(p), All: c.found.passages}
	for _, x := range c.shown {
		text, err := c.finder.Text(x.Places[0])
		if err != nil {
			return err
		}
		of := review.Passage{Tokens: x.Tokens, Documents: x.Documents, All: len(x.Places), Text: text}
		if len(text) > mostInReport {
			of.Text = beginning(text, mostInReport) + " …"
		}
		for _, at := range x.Places[:min(len(x.Places), mostPlaces)] {
			spot, err := c.spot(at)
			if err != nil {
				return err
			}
			of.Places = append(of.Places, spot)
		}
		page.Passages = append(page.Passages, of)
	}
	return page.Write(c.to.report)
}

// spot returns what stands at a place, and around it.
func (c *passageRun) spot(at passages.Place[int]) (s review.Spot, err error) {
	doc := c.Doc(at.Number)
	s = review.Spot{ID: doc.ID, At: c.At(doc.Place)}
	s.Before, s.Begin, s.After, err = c.finder.Around(at, around)
	if len(s.Begin) > 3*around {
		s.Begin, s.End = beginning(s.Begin, around), ending(s.Begin, around)
	}
	return s, err
}

// beginning returns up to n bytes of a text, without cutting a character.
func beginning(text string, n int) string {
	for n = min(n, len(text)); n > 0 && n < len(text) && !utf8.RuneStart(text[n]); n-- {
	}
	return text[:n]
}

// ending returns up to n bytes of the end of a text, without cutting a character.
func ending(text string, n int) string {
	at := max(len(text)-n, 0)
	for ; at < len(text) && !utf8.RuneStart(text[at]); at++ {
	}
	return text[at:]
}

// writeCoverage writes, for each new document that shares a passage, its sources.
func (c *passageRun) writeCoverage(path string) error {
	if c.to.coverage == nil {
		return nil
	}
	t := output.NewTable(c.to.coverage, path, "id", "at", "tokens", "shared", "share", "source", "source_at", "from_source", "more", "of_source", "source_tokens")
	for x, err := range c.finder.CoverageSince(context.Background(), c.Old) {
		if err != nil {
			return err
		}
		c.found.documents++
		doc := c.Doc(x.Number)
		for _, s := range x.Sources {
			source := c.Doc(s.Number)
			share := json.Number(fmt.Sprintf("%.4f", float64(x.Shared)/float64(x.Tokens)))
			if err := t.Row(doc.ID, c.At(doc.Place), x.Tokens, x.Shared, share, source.ID, c.At(source.Place), s.Shared, s.More, s.DocumentShared, s.DocumentTokens); err != nil {
				return err
			}
		}
	}
	c.Log.Progress.End()
	return t.End()
}

// writeCut writes the new documents without what stands in an earlier place, and what was cut.
func (c *passageRun) writeCut(p *Passages, o *options.Options) error {
	if c.to.out == nil {
		return nil
	}
	cuts, err := c.cuts(p)
	if err != nil {
		return err
	}
	var audit *output.Table
	if c.to.audit != nil {
		audit = output.NewTable(c.to.audit, o.Audit, "id", "at", "what", "from", "to", "text", "source", "source_at", "source_from", "source_to")
	}
	err = cleaned.Edit(c.Corpus, c.to.out, o.Out, func(i int, s *input.Source, it *input.Item) (isKept bool, done cutDocument, err error) {
		if cut := cuts[i]; cut != nil {
			done, err = c.cut(cut, i, s, it, p)
		}
		return !done.isDropped, done, err
	}, func(i int, done cutDocument) error {
		switch {
		case cuts[i] == nil:
			return nil
		case done.isUncut:
			c.found.uncut++
			return nil
		case done.isDropped:
			c.found.dropped++
		}
		c.found.cut++
		return c.auditCut(audit, i, cuts[i], done)
	})
	if err == nil && audit != nil {
		err = audit.End()
	}
	return err
}

// A cutDocument is what became of a document of which something is cut.
type cutDocument struct {
	text      string // as it was
	isDropped bool   // since too little was left
	isUncut   bool   // since its text is not the value of one field
}

// cut cuts the text of an item.
func (c *passageRun) cut(cut *passages.Cut[int], i int, s *input.Source, it *input.Item, p *Passages) (done cutDocument, err error) {
	if done.text, err = c.finder.Document(i); err != nil {
		return done, err
	}
	left, err := cut.Apply(done.text, p.Mask)
	if err != nil {
		return done, err
	}
	if done.isDropped = !cut.Needed && cut.Left < p.Least; !done.isDropped {
		done.isUncut = it.SetText(s, c.Reading.Cols, done.text, left) != nil
	}
	return done, nil
}

// cuts returns what is cut of new documents, by their numbers.
func (c *passageRun) cuts(p *Passages) (map[int]*passages.Cut[int], error) {
	cuts := map[int]*passages.Cut[int]{}
	cutting := p.Cut
	cutting.Since = c.Old
	for cut, err := range c.finder.Cuts(context.Background(), cutting) {
		if err != nil {
			return nil, err
		}
		cuts[cut.Number] = &cut
	}
	c.Log.Progress.End()
	return cuts, nil
}

// auditCut writes what was cut of a document: each part, or that it was dropped.
func (c *passageRun) auditCut(t *output.Table, i int, cut *passages.Cut[int], done cutDocument) error {
	if t == nil {
		return nil
	}
	doc, what := c.Doc(i), "cut"
	if done.isDropped {
		what = "dropped"
	}
	for n, x := range cut.Spans {
		earlier := cut.Sources[n]
		source := c.Doc(earlier.Number)
		if err := t.Row(doc.ID, c.At(doc.Place), what, x.From, x.To, done.text[x.From:x.To], source.ID, c.At(source.Place), earlier.From, earlier.To); err != nil {
			return err
		}
	}
	return nil
}

// passagesFound says how many passages there are.
func (c *passageRun) passagesFound(p *Passages) string {
	return fmt.Sprintf("%s of at least %d words, or %d characters in Chinese and similar scripts, in %s; the longest has %d words or characters, and the most common one is in %s.",
		cli.Count(c.found.passages, "passage", "passages"), p.Length.Words, p.Length.Characters, cli.Count(c.found.places, "place", "places"), c.found.longest, cli.Count(c.found.most, "document", "documents"))
}

// say prints what was found.
func (c *passageRun) say(w io.Writer, p *Passages, took time.Duration) {
	sayRead(c.Corpus, w, took)
	if c.to.passages != nil || c.to.report != nil || c.to.coverage == nil && c.to.out == nil {
		fmt.Fprintln(w, c.passagesFound(p))
	}
	if c.to.coverage != nil {
		fmt.Fprintln(w, cli.Count(c.found.documents, "document shares", "documents share"), "a passage with another one")
	}
	if c.to.out != nil {
		fmt.Fprintf(w, "documents cut: %d, of which dropped: %d\n", c.found.cut, c.found.dropped)
		if c.found.uncut > 0 {
			fmt.Fprintf(w, "documents not cut, because their text is not the value of a single field: %d\n", c.found.uncut)
		}
	}
}
