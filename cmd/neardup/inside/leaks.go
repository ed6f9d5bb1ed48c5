package inside

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/neardup/neardup/cmd/neardup/cleaned"
	"github.com/neardup/neardup/cmd/neardup/cli"
	"github.com/neardup/neardup/cmd/neardup/corpus"
	"github.com/neardup/neardup/cmd/neardup/input"
	"github.com/neardup/neardup/cmd/neardup/load"
	"github.com/neardup/neardup/cmd/neardup/options"
	"github.com/neardup/neardup/cmd/neardup/output"
	"github.com/neardup/neardup/passages"
	"github.com/neardup/neardup/passages/leaks"
)

// This file has the command decontaminate: which test items stand in the documents of a corpus. The tests are read first, and each document
// is searched as it is loaded.

// Leaks has the settings of the command. Where it writes to, Writing says: Out is the corpus without documents with leaks, Leaks and Items
// are tables.
type Leaks struct {
	Tests  string // where the tests are
	Format string // of them; "" to go by the name
	ID     string
	Parts  []string // the fields of an item that are looked for; of these, an item has one or more
	Length passages.Length
	Share  float64 // the smallest share of a part that a document must have
}

// A testItem is an item of a test.
type testItem struct {
	id     string
	at     string // file:line
	parts  []testPart
	number int
}

// A testPart is a part of an item.
type testPart struct {
	name      string
	isSought  bool // it is long enough, and not what many items have in common
	documents int  // that have it
	tokens    int
	best      float64 // the largest share that a document has
}

// A hit is a part of an item in a document.
type hit struct {
	document   int
	item, part int
	shared     int
	run        passages.Run // the longest one
	text       string       // of it, in the document
}

// A leaking is a corpus that is searched for tests.
type leaking struct {
	*corpus.Corpus
	*Leaks
	tests              *leaks.Benchmark[int] // by the number of an item
	given              []input.Source        // the tests
	items              []testItem
	unsought, badItems int // parts that are not looked for, and items that were skipped
	mu                 sync.Mutex
	hits               []hit
	hitDocs            map[int]bool // documents with hits
	to                 struct{ out, leaks, items *cli.Output }
}

// FindLeaks runs the command decontaminate.
func FindLeaks(o *options.Options, p *Leaks, outs *cli.Outputs, stdin io.Reader, stdout, stderr io.Writer) (err error) {
	defer outs.Discard()
	start := time.Now()
	defer options.LimitMemory(o.Memory)()
	tests, err := leaks.New[int](p.Length)
	if err != nil {
		return err
	}
	all, fp, err := open(o, stdin, stderr)
	if err != nil {
		return err
	}
	c := &leaking{Corpus: all, Leaks: p, tests: tests, hitDocs: map[int]bool{}}
	if err := c.findTests(o); err != nil {
		return err
	}
	defer c.CloseCopies()
	if o.Out != "" {
		if err := c.KeepCopies(false); err != nil {
			return err
		}
	}
	summary, err := outs.CreateAll(stdout, c.Log.Errors, cli.Path{Name: o.Out, To: &c.to.out}, cli.Path{Name: o.Leaks, To: &c.to.leaks}, cli.Path{Name: o.Items, To: &c.to.items})
	if err == nil && o.Out != "" {
		err = output.Check(o.Out, c.Sources)
	}
	if err == nil {
		err = c.readTests(o)
	}
	if err != nil {
		return err
	}
	if err := loadTexts(c.Corpus, o, fp, func(texts <-chan []load.Taken) error { return c.search(texts, o.Workers) }); err != nil {
		return err
	}
	if err := c.writeAll(o); err != nil {
		return err
	}
	if err := outs.Commit(); err != nil {
		return err
	}
	if !o.Quiet {
		c.say(summary, time.Since(start))
	}
	return nil
}

// writeAll writes the tables, and the documents in which nothing was found.
func (c *leaking) writeAll(o *options.Options) error {
	c.count()
	err := cmp.Or(c.writeLeaks(o.Leaks), c.writeItems(o.Items))
	if err != nil || c.to.out == nil {
		return err
	}
	return cleaned.Write(c.Corpus, c.to.out, o.Out, nil, 0, func(i int) ([]string, bool) { return nil, !c.hitDocs[i] })
}

// findTests finds the files of the tests. It returns an error if one of them cannot be read, or is also an output.
func (c *leaking) findTests(o *options.Options) error {
	f := input.Finder{Format: c.Format, Room: c.Reading.Cols.Room}
	f.Find(c.Tests)
	for _, s := range f.Sources {
		switch {
		case s.Err != nil:
			return s.Err
		case s.Path == "-" || !s.Regular():
			return fmt.Errorf("%s: the tests must be in files", s.Path)
		}
	}
	c.given = f.Sources
	return corpus.Overwritten(f.Sources, o.Existing())
}

// readTests reads the tests.
func (c *leaking) readTests(o *options.Options) error {
	cols := o.Cols
	cols.ID, cols.Text, cols.WithoutID, cols.IsRecord, cols.All = c.ID, "text", "line", true, true
	for n := range c.given {
		s := &c.given[n]
		r, finish, err := s.Open(nil, io.Discard)
		if err != nil {
			return err
		}
		var wrong error
		err = s.Read(n, r, cols, o.MaxLine, func(it input.Item) bool {
			err := c.addItem(&it, s, cols)
			if err == nil {
				return true
			}
			err = fmt.Errorf("%s:%d: %w", s.Path, it.Line, err)
			if wrong = err; o.SkipBad {
				wrong = nil
				c.badItems++
				fmt.Fprintln(c.Log.Errors, "neardup: skipped:", cli.Printable(err.Error(), 2000))
			}
			return wrong == nil
		})
		finish()
		if err := cmp.Or(wrong, err); err != nil {
			return err
		}
	}
	if len(c.items) == 0 {
		return fmt.Errorf("%s: there are no test items", c.Tests)
	}
	next, stop := iter.Pull2(c.tests.Parts())
	defer stop()
	for i := range c.items {
		for k := range c.items[i].parts {
			part := &c.items[i].parts[k]
			if part.tokens, part.isSought, _ = next(); !part.isSought {
				c.unsought++
			}
		}
	}
	return nil
}

// addItem adds the parts of an item.
func (c *leaking) addItem(it *input.Item, s *input.Source, cols input.Columns) error {
	item := testItem{at: fmt.Sprintf("%s:%d", s.Path, it.Line), number: len(c.items)}
	var texts []string
	if s.Format == "jsonl" || s.Format == "json" || input.IsTable(s.Format) {
		d, rec, err := it.Record(s, cols)
		if err != nil {
			return err
		}
		item.id = d.ID
		isThere := false
		for _, name := range c.Parts {
			text, ok := rec[name]
			if isThere = isThere || ok; !corpus.IsBlank(text) {
				item.parts, texts = append(item.parts, testPart{name: name}), append(texts, text)
			}
		}
		if !isThere {
			return fmt.Errorf("none of the fields %q found; the fields are %q. Use --parts to name others", c.Parts, slices.Sorted(maps.Keys(rec)))
		}
	} else {
		cols.IsRecord = false
		d, err := it.Parse(s, cols, &input.Decoder{})
		if err != nil {
			return err
		}
		item.id, item.parts, texts = d.ID, []testPart{{name: "text"}}, []string{d.Text}
	}
	if err := c.tests.Add(item.number, texts...); err != nil {
		return err
	}
	c.items = append(c.items, item)
	return nil
}

// search looks for all tests in texts, by several workers. Their order makes no difference.
func (c *leaking) search(texts <-chan []load.Taken, workers int) error {
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for some := range texts {
				for _, t := range some {
					c.searchOne(t)
				}
			}
		})
	}
	wg.Wait()
	return nil
}

// searchOne looks for all tests in a text.
func (c *leaking) searchOne(t load.Taken) {
	for leak := range c.tests.Search(t.Text) {
		if float64(leak.Shared) < c.Share*float64(leak.Tokens) {
			continue
		}
		h := hit{document: t.Number, item: leak.ID, part: leak.Part, shared: leak.Shared}
		for _, r := range leak.Runs {
			if r.Tokens > h.run.Tokens {
				h.run = r
			}
		}
		h.text = strings.Clone(t.Text[h.run.FromB:h.run.ToB])
		c.mu.Lock()
		c.hits = append(c.hits, h)
		c.mu.Unlock()
	}
}

// count orders the hits, and counts them by part and document.
func (c *leaking) count() {
	slices.SortFunc(c.hits, func(a, b hit) int {
		return cmp.Or(cmp.Compare(a.document, b.document), cmp.Compare(a.item, b.item), cmp.Compare(a.part, b.part))
	})
	for _, h := range c.hits {
		part := &c.items[h.item].parts[h.part]
		part.documents++
		part.best = max(part.best, float64(h.shared)/float64(part.tokens))
		c.hitDocs[h.document] = true
	}
}

// writeLeaks writes a row for each part of an item in a document.
func (c *leaking) writeLeaks(path string) error {
	if c.to.leaks == nil {
		return nil
	}
	t := output.NewTable(c.to.leaks, path, "test", "test_at", "part", "tokens", "shared", "share", "id", "at", "from", "to", "text")
	for _, h := range c.hits {
		item, doc := &c.items[h.item], c.Doc(h.document)
		part := &item.parts[h.part]
		err := t.Row(item.id, item.at, part.name, part.tokens, h.shared, json.Number(fmt.Sprintf("%.4f", float64(h.shared)/float64(part.tokens))),
			doc.ID, c.At(doc.Place), h.run.FromB, h.run.ToB, h.text)
		if err != nil {
			return err
		}
	}
	return t.End()
}

// writeItems writes a row for each part of each item.
func (c *leaking) writeItems(path string) error {
	if c.to.items == nil {
		return nil
	}
	t := output.NewTable(c.to.items, path, "test", "test_at", "part", "tokens", "looked_for", "documents", "largest_share")
	for _, item := range c.items {
		for _, part := range item.parts {
			if err := t.Row(item.id, item.at, part.name, part.tokens, part.isSought, part.documents, json.Number(fmt.Sprintf("%.4f", part.best))); err != nil {
				return err
			}
		}
	}
	return t.End()
}

// say prints what was found.
func (c *leaking) say(w io.Writer, took time.Duration) {
	sayRead(c.Corpus, w, took)
	leaked := 0
	byPart := map[string]int{}
	for _, item := range c.items {
		isLeaked := false
		for _, part := range item.parts {
			if part.documents > 0 {
				isLeaked = true
				byPart[part.name]++
			}
		}
		if isLeaked {
			leaked++
		}
	}
	fmt.Fprintf(w, "%d of %s found, in %s\n", leaked, cli.Count(len(c.items), "test item was", "test items were"), cli.Count(len(c.hitDocs), "document", "documents"))
	if len(byPart) > 0 && len(c.Parts) > 1 {
		for _, name := range slices.Sorted(maps.Keys(byPart)) {
			fmt.Fprintf(w, "    %s: %s\n", name, cli.Count(byPart[name], "item", "items"))
		}
	}
	if both := c.both(); both > 0 {
		fmt.Fprintf(w, "    several parts of one item in one document: %s\n", cli.Count(both, "time", "times"))
	}
	c.sayLargest(w)
	if c.badItems > 0 {
		fmt.Fprintln(w, cli.Count(c.badItems, "test item was skipped", "test items were skipped"))
	}
	if c.unsought > 0 {
		fmt.Fprintln(w, cli.Count(c.unsought, "part of an item was not searched for: it is too short, or shared by many items", "parts of items were not searched for: they are too short, or shared by many items"))
	}
	if c.to.out != nil {
		fmt.Fprintln(w, cli.Count(c.Docs.Len()-len(c.hitDocs), "document remains", "documents remain"))
	}
}

// mostSaid is how many leaks are printed; --leaks has all.
const mostSaid = 5

// sayLargest prints the largest leaks: which item, in which document, and where that is.
func (c *leaking) sayLargest(w io.Writer) {
	largest := slices.Clone(c.hits)
	slices.SortStableFunc(largest, func(a, b hit) int { return cmp.Compare(b.shared, a.shared) }) // count has put them in order
	if len(largest) > 0 {
		fmt.Fprintln(w, "largest leaks, in words or characters:")
	}
	for _, h := range largest[:min(len(largest), mostSaid)] {
		item, doc := &c.items[h.item], c.Doc(h.document)
		part := &item.parts[h.part]
		at := cli.Printable(doc.ID, 60)
		if place := c.At(doc.Place); place != doc.ID {
			at += " (" + cli.Printable(place, 80) + ")"
		}
		fmt.Fprintf(w, "%6d of %d  %s of %s in %s: %s\n", h.shared, part.tokens, part.name, cli.Printable(item.id, 60), at, cli.Printable(strings.Join(strings.Fields(h.text), " "), 80))
	}
}

// both returns how often a document has several parts of one item: a question with its answer.
func (c *leaking) both() (n int) {
	for i := 0; i < len(c.hits); {
		from := i
		for i++; i < len(c.hits) && c.hits[i].document == c.hits[from].document && c.hits[i].item == c.hits[from].item; i++ {
		}
		if i-from > 1 {
			n++
		}
	}
	return n
}
