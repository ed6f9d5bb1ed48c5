package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/dedup"
)

// This file asks a Deduplicator for the evidence about all pairs of a collection that it compares. A near-duplicate that it
// does not compare is one that no function can find; it counts as missed.

// A quantity is one of the quantities of the evidence.
type quantity struct {
	name    string  // as dedup.Comparison has it
	goName  string  // in the package dedup/internal/evidence
	onTexts bool    // depends on the two texts alone
	in      [3]bool // whether it is in byAll, in byTexts, and in byRecords
}

// quantities are all of them, in their order. Records have no order of words and no beginning, and the cosine of their columns has one
// level. Of the sets of quantities that were tried for byRecords, these three are the best for left-out tables (mean F1 0.890; with
// those of characters and words too 0.867), and the fewest. One is not in byAll, since left-out sets come out better without: see the
// table of quantities. Figures are not in byTexts: two filled-in copies of a form are alike.
var quantities = [...]quantity{
	{"runs of characters", "Characters", true, [3]bool{true, true, false}},
	{"words", "Words", true, [3]bool{false, true, false}},
	{"runs of words, if short", "ShortRuns", true, [3]bool{true, true, false}},
	{"runs of characters, if short", "ShortCharacters", true, [3]bool{true, true, false}},
	{"changed words at the beginning", "Beginning", true, [3]bool{true, true, false}},
	{"changed words", "Anywhere", true, [3]bool{true, true, false}},
	{"unmatched numbers in both, if short", "FiguresInBoth", true, [3]bool{true, false, false}},
	{"unmatched numbers in one, if short", "FiguresInOne", true, [3]bool{true, false, false}},
	{"a word replaced throughout", "Replaced", true, [3]bool{true, true, true}},
	{"nearly a copy", "NearCopy", true, [3]bool{true, false, false}},
	{"longest change", "Longest", true, [3]bool{true, false, false}},
	{"number of changed places", "Scatter", true, [3]bool{true, false, false}},
	{"runs of words that few neighbours have", "LocalRuns", false, [3]bool{true, false, true}},
	{"runs of characters that few neighbours have", "LocalCharacters", false, [3]bool{true, false, false}},
	{"other texts about as close", "Crowd", false, [3]bool{true, false, true}},
}

// A vector has the values of the quantities.
type vector [len(quantities)]float64

// A pair is two contents that were compared. Equal documents are one content.
type pair struct {
	a, b int32 // a document of each
	n    int32 // pairs of documents with these contents
	hits int32 // so many of them are near-duplicates
	x    vector
}

// is reports whether the two count as near-duplicates.
func (p *pair) is() bool { return 2*p.hits > p.n }

// evidence is what is known about the pairs of a collection.
type evidence struct {
	*collection
	pairs []pair
	equal []pair // pairs of equal documents, which are always found
}

// gather returns the evidence about a collection.
func gather(c *collection) (*evidence, error) {
	// Only equal documents have the probability 1, so all that Pairs reports are equal.
	d, err := dedup.New[int](dedup.Options{Fingerprinter: neardup.Fingerprinter{Fields: c.fields}, Kinds: neardup.Identical | neardup.SameWords, Probability: 1})
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	err = d.AddAll(ctx, func(yield func(int, neardup.Document) bool) {
		for i, r := range c.records {
			yield(i, r)
		}
		for i, text := range c.texts {
			yield(i, neardup.Text(text))
		}
	})
	if err != nil {
		return nil, err
	}
	e := &evidence{collection: c}
	same := make([][]int, len(c.texts)+len(c.records)) // by the first document of a content, the others
	for p, err := range d.Pairs(ctx) {
		if err != nil {
			return nil, err
		}
		e.equal = append(e.equal, c.count(p.A, p.B, nil))
		same[p.A] = append(same[p.A], p.B)
	}
	for p, err := range d.Comparisons(ctx) {
		if err != nil {
			return nil, err
		}
		found := c.count(p.A, p.B, same)
		for k, q := range p.Evidence {
			if q.Name != quantities[k].name {
				return nil, fmt.Errorf("quantity %d is %q, want %q", k, q.Name, quantities[k].name)
			}
			found.x[k] = q.Value
		}
		e.pairs = append(e.pairs, found)
	}
	return e, nil
}

// count returns the pair of two contents, given by their first documents, with how many pairs of documents it stands for.
func (c *collection) count(a, b int, same [][]int) pair {
	p := pair{a: int32(a), b: int32(b)}
	as, bs := []int{a}, []int{b}
	if same != nil {
		as, bs = append(as, same[a]...), append(bs, same[b]...)
	}
	for _, a := range as {
		for _, b := range bs {
			p.n++
			if c.truth.Has(a, b) {
				p.hits++
			}
		}
	}
	return p
}

// gatherOnce returns the evidence from a file in a directory. If there is none, it gathers the evidence and writes the
// file. It keeps nothing if dir is empty.
func gatherOnce(c *collection, dir string) (*evidence, error) {
	if dir == "" {
		return gather(c)
	}
	path := filepath.Join(dir, c.name+".tsv")
	if e, err := load(c, path); err == nil || !os.IsNotExist(err) {
		return e, err
	}
	e, err := gather(c)
	if err != nil {
		return nil, err
	}
	return e, e.save(path)
}

// save writes the pairs as lines of tab-separated numbers: two documents, how many pairs of documents, how many of them
// are near-duplicates, and the quantities, which are missing for equal documents.
func (e *evidence) save(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	for _, p := range e.equal {
		fmt.Fprintf(w, "%d\t%d\t%d\t%d\n", p.a, p.b, p.n, p.hits)
	}
	for _, p := range e.pairs {
		fmt.Fprintf(w, "%d\t%d\t%d\t%d", p.a, p.b, p.n, p.hits)
		for _, x := range p.x {
			w.WriteString("\t" + strconv.FormatFloat(x, 'g', -1, 64))
		}
		w.WriteString("\n")
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return f.Close()
}

// load reads what save wrote.
func load(c *collection, path string) (*evidence, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	e := &evidence{collection: c}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		fields := strings.Split(lines.Text(), "\t")
		p, err := parse(fields)
		switch {
		case err != nil:
			return nil, fmt.Errorf("%s: %w", path, err)
		case len(fields) == keys:
			e.equal = append(e.equal, p)
		default:
			e.pairs = append(e.pairs, p)
		}
	}
	return e, lines.Err()
}

// keys is the number of columns before the quantities.
const keys = 4

// parse reads a line of save.
func parse(fields []string) (p pair, err error) {
	if len(fields) != keys && len(fields) != keys+len(quantities) {
		return p, fmt.Errorf("a line has %d columns", len(fields))
	}
	for k, field := range fields {
		if k >= keys {
			if p.x[k-keys], err = strconv.ParseFloat(field, 64); err != nil {
				return p, err
			}
			continue
		}
		n, err := strconv.ParseInt(field, 10, 32)
		if err != nil {
			return p, err
		}
		*[]*int32{&p.a, &p.b, &p.n, &p.hits}[k] = int32(n)
	}
	return p, nil
}
