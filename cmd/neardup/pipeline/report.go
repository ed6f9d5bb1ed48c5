package pipeline

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"math"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/cmd/neardup/cli"
	"github.com/neardup/neardup/cmd/neardup/input"
	"github.com/neardup/neardup/cmd/neardup/review"
	"github.com/neardup/neardup/dedup"
	"github.com/zeebo/xxh3"
)

// This file makes the page in which people look at pairs (package review), for the command review and for dedup
// --report. The page has the pairs from far below the border on, so that one can see what another border would do.

const (
	leastProbability = 0.05    // where the page begins
	mostPairs        = 100_000 // what a page has at most: those closest to the border
	mostExplained    = 2_000   // of them, those with reasons
	mostText         = 50_000  // characters of a text in the page

	mostFamiliesInPage = 1_000
)

// WriteReport writes the page of a collection that was grouped, and returns how many pairs it has.
func (c *collection) WriteReport(w io.Writer, o *Options, stdin io.Reader) (int, error) {
	if st := c.exact.state; st != nil {
		at := c.Numbers()
		return reportOf(c, st.d, w, o, stdin, func(id string) int { return at[id] }, func(i int) string { return c.Doc(i).ID })
	}
	same := func(i int) int { return i }
	return reportOf(c, c.exact.d, w, o, stdin, same, same)
}

// reportOf is WriteReport with a Deduplicator. at returns the number of a document, and id the reverse.
func reportOf[ID comparable](c *collection, d *dedup.Deduplicator[ID], w io.Writer, o *Options, stdin io.Reader, at func(ID) int, id func(int) ID) (int, error) {
	ctx := context.Background()
	t, err := d.Estimate(ctx)
	if err != nil {
		return 0, err
	}
	border := c.method.Probability
	r := &review.Report{
		Title: "Near-duplicates in " + c.title(), Key: c.key(), Made: ProgramVersion(), Documents: c.docs.Len() - c.old, Threshold: border,
		Reason: strings.ToUpper(t.String()[:1]) + t.String()[1:], Least: leastProbability,
	}
	r.Prior = "what is known of any two texts that are compared"
	for _, n := range t.Histogram {
		r.Curve = append(r.Curve, float64(n))
	}
	if c.old > 0 { // what is to be expected of all pairs says nothing of those with a new document
		r.Reason, r.Curve = fmt.Sprintf("Pairs with a new document; near-duplicates from a probability of %.2f on", border), nil
	}
	if r.Families, err = c.shownFamilies(); err != nil {
		return 0, err
	}
	kinds := kindNames()
	for _, k := range kinds {
		r.Kinds = append(r.Kinds, k.String())
	}
	pairs, err := pairsFrom(ctx, c, d, r.Least, at)
	if err != nil {
		return 0, err
	}
	pairs, r.Left = mostDoubtful(pairs, border)
	place := map[int]int{} // the documents of the page, by their numbers
	for _, p := range pairs {
		place[p.A], place[p.B] = 0, 0
	}
	numbers := slices.Sorted(maps.Keys(place))
	for i, n := range numbers {
		place[n] = i
	}
	r.Docs = c.shownDocs(numbers)
	for _, p := range pairs {
		r.Pairs = append(r.Pairs, review.Pair{A: place[p.A], B: place[p.B], Similarity: p.Similarity, Probability: p.Probability, Kind: slices.Index(kinds, p.Kind)})
	}
	set := func(i int, text string) { r.Docs[place[i]].Text = shownText(text) }
	if err := textsOfPage(c, d, &o.Reading, stdin, numbers, id, set); err != nil {
		return 0, err
	}
	if err := explain(c, d, r, o, numbers, id); err != nil {
		return 0, err
	}
	return len(r.Pairs), r.Write(w)
}

// mostDoubtful returns the pairs whose probabilities are nearest to the border, and how many others there are.
func mostDoubtful(pairs []neardup.Pair[int], border float64) ([]neardup.Pair[int], int) {
	doubt := func(p neardup.Pair[int]) float64 { return math.Abs(p.Probability - border) }
	slices.SortStableFunc(pairs, func(p, q neardup.Pair[int]) int { return cmp.Compare(doubt(p), doubt(q)) })
	n := min(len(pairs), mostPairs)
	return pairs[:n], len(pairs) - n
}

// shownText returns a text as the page has it: valid, and cut off if it is long.
func shownText(text string) string {
	if len(text) > mostText { // bytes, so it may have as many characters
		if cut := []rune(text); len(cut) > mostText {
			text = string(cut[:mostText]) + "\n[…]"
		}
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

// shownFamilies returns the forms that are filled in differently, as the page has them.
func (c *collection) shownFamilies() (all []review.Family, err error) {
	families, err := c.exact.families()
	for _, f := range families[:min(len(families), mostFamiliesInPage)] {
		shown := review.Family{Members: f.Members, Form: cli.Printable(f.Form, 500)}
		for _, filled := range f.Filled[:min(len(f.Filled), 3)] {
			shown.Filled = append(shown.Filled, cli.Printable(filled, 100))
		}
		all = append(all, shown)
	}
	return all, err
}

// shownDocs returns documents as the page has them, without their texts.
func (c *collection) shownDocs(numbers []int) (docs []review.Doc) {
	groups, sizes := map[int]int{}, c.sizes() // by the document that names a group
	for _, n := range numbers {
		doc, root := c.Doc(n), c.groupOf(n)
		shown := review.Doc{ID: doc.ID, At: c.at(doc.Place), Size: int(sizes[root]), Kept: n == root}
		if doc.Place == input.NoPlace {
			shown.At = "of an earlier call"
		}
		if shown.Size > 1 {
			if groups[root] == 0 {
				groups[root] = len(groups) + 1
			}
			shown.Group = groups[root]
		}
		docs = append(docs, shown)
	}
	return docs
}

// textsOfPage reads the texts of the documents with some numbers, in order: from the sources, or as a Deduplicator in files has them.
func textsOfPage[ID comparable](c *collection, d *dedup.Deduplicator[ID], o *Reading, stdin io.Reader, numbers []int, id func(int) ID, set func(i int, text string)) error {
	for c.exact.state != nil && len(numbers) > 0 && numbers[0] < c.old {
		text, _, err := d.Text(id(numbers[0]))
		if err != nil {
			return err
		}
		set(numbers[0], text)
		numbers = numbers[1:]
	}
	wanted := func(i int) bool {
		_, ok := slices.BinarySearch(numbers, i)
		return ok
	}
	return c.eachWholeText(o, stdin, wanted, func(i int, text string) error {
		set(i, text)
		return nil
	})
}

// explain sets the reasons of the most doubtful pairs. numbers has the numbers of the documents of the page.
func explain[ID comparable](c *collection, d *dedup.Deduplicator[ID], r *review.Report, o *Options, numbers []int, id func(int) ID) error {
	c.progress.begin("explaining", int64(min(len(r.Pairs), mostExplained)), "")
	defer c.progress.end()
	var wg sync.WaitGroup
	var mu sync.Mutex
	var wrong error
	next, done := 0, 0
	for range min(o.Workers, runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for {
				mu.Lock()
				i := next
				next++
				c.progress.set(int64(done))
				mu.Unlock()
				if i >= min(len(r.Pairs), mostExplained) {
					return
				}
				p := &r.Pairs[i]
				e, err := d.Explain(id(numbers[p.A]), id(numbers[p.B]))
				mu.Lock()
				wrong = cmp.Or(wrong, err)
				done++
				mu.Unlock()
				slices.SortStableFunc(e.Quantities, func(x, y dedup.Quantity) int { return cmp.Compare(math.Abs(y.Adds), math.Abs(x.Adds)) })
				p.Why = append(p.Why, review.Reason{Text: r.Prior, Adds: e.Constant})
				for _, q := range e.Quantities {
					if q.Adds != 0 {
						p.Why = append(p.Why, review.Reason{Text: q.Name, Adds: q.Adds})
					}
				}
			}
		})
	}
	wg.Wait()
	return wrong
}

// pairsFrom returns the pairs with a new document from a probability on, of all kinds that count, by the numbers of the documents.
func pairsFrom[ID comparable](ctx context.Context, c *collection, from *dedup.Deduplicator[ID], least float64, at func(ID) int) (pairs []neardup.Pair[int], err error) {
	s := c.exact.options
	s.Similarity, s.Probability = 0, least
	d, err := dedup.New[ID](s)
	if err != nil {
		return nil, err
	}
	if err := d.Merge(from); err != nil {
		return nil, err
	}
	for p, err := range d.PairsSince(ctx, c.old) {
		if err != nil {
			return nil, err
		}
		if len(pairs) >= c.mostListed {
			return nil, tooManyPairs(c.mostListed)
		}
		pairs = append(pairs, neardup.Pair[int]{A: at(p.A), B: at(p.B), Similarity: p.Similarity, Probability: p.Probability, Kind: p.Kind})
	}
	return pairs, nil
}

// title names the inputs.
func (c *collection) title() string {
	if sources := c.Sources[c.oldSources:]; len(sources) == 1 {
		return filepath.Base(sources[0].Path)
	}
	return fmt.Sprintf("%d files", len(c.Sources)-c.oldSources)
}

// key tells collections apart.
func (c *collection) key() string {
	h := xxh3.New()
	for i := range c.docs.Len() {
		fmt.Fprintf(h, "%d:%s", len(c.Doc(i).ID), c.Doc(i).ID)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// kindNames returns the kinds of pairs.
func kindNames() (kinds []neardup.Kind) {
	for k := neardup.Kind(1); k&neardup.AllKinds != 0; k <<= 1 {
		kinds = append(kinds, k)
	}
	return kinds
}
