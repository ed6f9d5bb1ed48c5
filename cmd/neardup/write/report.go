package write

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"math"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/cmd/neardup/cli"
	"github.com/neardup/neardup/cmd/neardup/input"
	"github.com/neardup/neardup/cmd/neardup/options"
	"github.com/neardup/neardup/cmd/neardup/review"
	"github.com/neardup/neardup/cmd/neardup/together"
	"github.com/neardup/neardup/dedup"
	"github.com/zeebo/xxh3"
)

// This file makes the page in which people look at pairs (package review), for the command review and for dedup
// --report. The page starts far below the threshold, so that people can see what another threshold would do.

const (
	leastProbability = 0.05    // where the page begins
	mostPairs        = 100_000 // on a page: those closest to the threshold
	mostExplained    = 2_000   // of them, those with reasons
	mostText         = 50_000  // characters of a text in the page

	mostFamiliesInPage = 1_000
)

// A page is what the page is made of.
type page struct {
	*Results
	*review.Report
	numbers []int // of the documents of the page, in order
}

// Report writes the page, and returns how many pairs it has.
func (r *Results) Report(w io.Writer) (int, error) {
	t, err := r.Engine.Estimate()
	if err != nil {
		return 0, err
	}
	threshold := r.Options.Method.Probability
	p := page{Results: r, Report: &review.Report{
		Title: "Near-duplicates in " + r.title(), Key: r.key(), Made: options.ProgramVersion(), Documents: r.New(), Threshold: threshold,
		Least: leastProbability,
		Prior: "the baseline for any two texts that are compared", Families: r.shownFamilies(),
	}}
	for _, n := range t.Histogram {
		p.Curve = append(p.Curve, float64(n))
	}
	pairs, err := r.Engine.PairsFrom(p.Least)
	if err != nil {
		return 0, err
	}
	p.Reason = reason(pairs, threshold, t)
	if r.Old > 0 { // what is to be expected of all pairs says nothing of those with a new document
		p.Reason, p.Curve = fmt.Sprintf("Pairs with a new document; near-duplicates at a probability of %.2f or more", threshold), nil
	}
	pairs, p.Left = mostDoubtful(pairs, threshold)
	p.show(pairs)
	if err := p.texts(); err != nil {
		return 0, err
	}
	if err := p.explain(); err != nil {
		return 0, err
	}
	return len(p.Pairs), p.Report.Write(w)
}

// reason says what is to be expected of the pairs of the page: in pairs of documents, as the page counts them.
func reason(pairs []neardup.Pair[int], threshold float64, t dedup.Estimate) string {
	t.Pairs, t.Wrong, t.Missed = 0, 0, 0
	for _, p := range pairs {
		if is := t.InCollection(p.Probability); p.Probability >= threshold {
			t.Pairs++
			t.Wrong += 1 - is
		} else {
			t.Missed += is
		}
	}
	said := t.String()
	return strings.ToUpper(said[:1]) + said[1:]
}

// show puts pairs and their documents onto the page, without texts.
func (p *page) show(pairs []neardup.Pair[int]) {
	kinds := kindNames()
	for _, k := range kinds {
		p.Kinds = append(p.Kinds, k.String())
	}
	place := map[int]int{} // the documents of the page, by their numbers
	for _, q := range pairs {
		place[q.A], place[q.B] = 0, 0
	}
	p.numbers = slices.Sorted(maps.Keys(place))
	for i, n := range p.numbers {
		place[n] = i
	}
	p.showDocs()
	for _, q := range pairs {
		p.Pairs = append(p.Pairs, review.Pair{A: place[q.A], B: place[q.B], Similarity: q.Similarity, Probability: q.Probability, Kind: slices.Index(kinds, q.Kind)})
	}
}

// mostDoubtful returns the pairs closest to the threshold, and how many it leaves out.
func mostDoubtful(pairs []neardup.Pair[int], threshold float64) ([]neardup.Pair[int], int) {
	doubt := func(p neardup.Pair[int]) float64 { return math.Abs(p.Probability - threshold) }
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
func (r *Results) shownFamilies() (all []review.Family) {
	families := r.Groups.Families
	for _, f := range families[:min(len(families), mostFamiliesInPage)] {
		shown := review.Family{Members: f.Members, Form: cli.Printable(f.Form, 500)}
		for _, filled := range f.Filled[:min(len(f.Filled), 3)] {
			shown.Filled = append(shown.Filled, cli.Printable(filled, 100))
		}
		all = append(all, shown)
	}
	return all
}

// showDocs puts the documents onto the page, without their texts.
func (p *page) showDocs() {
	groups, sizes := map[int]int{}, p.Groups.Sizes() // by the document that names a group
	for _, n := range p.numbers {
		doc, root := p.Doc(n), p.Groups.Of(n)
		shown := review.Doc{ID: doc.ID, At: p.At(doc.Place), Size: int(sizes[root]), Kept: n == root}
		if doc.Place == input.NoPlace {
			shown.At = "from an earlier run"
		}
		if shown.Size > 1 {
			if groups[root] == 0 {
				groups[root] = len(groups) + 1
			}
			shown.Group = groups[root]
		}
		p.Docs = append(p.Docs, shown)
	}
}

// texts reads the texts of the documents: from the sources, or those of earlier calls as the Deduplicator has them.
func (p *page) texts() error {
	left := p.numbers
	for ; p.Options.State != "" && len(left) > 0 && left[0] < p.Old; left = left[1:] {
		text, err := p.Engine.Text(left[0])
		if err != nil {
			return err
		}
		p.Docs[len(p.numbers)-len(left)].Text = shownText(text)
	}
	return p.EachWholeText(func(i int) bool {
		_, ok := slices.BinarySearch(left, i)
		return ok
	}, func(i int, text string) error {
		at, _ := slices.BinarySearch(p.numbers, i)
		p.Docs[at].Text = shownText(text)
		return nil
	})
}

// explain sets the reasons of the most doubtful pairs.
func (p *page) explain() error {
	n := min(len(p.Pairs), mostExplained)
	bar := p.Log.Progress
	bar.Begin("explaining", int64(n), "")
	defer bar.End()
	errs := make([]error, n)
	var done atomic.Int64
	together.Each(min(p.Options.Workers, runtime.GOMAXPROCS(0)), n, func(i int) {
		q := &p.Pairs[i]
		e, err := p.Engine.Explain(p.numbers[q.A], p.numbers[q.B])
		errs[i] = err
		slices.SortStableFunc(e.Evidence, func(x, y dedup.Quantity) int { return cmp.Compare(math.Abs(y.Adds), math.Abs(x.Adds)) })
		q.Why = append(q.Why, review.Reason{Text: p.Prior, Adds: e.Constant})
		for _, quantity := range e.Evidence {
			if quantity.Adds != 0 {
				q.Why = append(q.Why, review.Reason{Text: quantity.Name, Adds: quantity.Adds})
			}
		}
		bar.Set(done.Add(1))
	})
	return cmp.Or(errs...)
}

// title names the inputs.
func (r *Results) title() string {
	if sources := r.NewSources(); len(sources) == 1 {
		return filepath.Base(sources[0].Path)
	}
	return fmt.Sprintf("%d files", len(r.NewSources()))
}

// key tells collections apart.
func (r *Results) key() string {
	h := xxh3.New()
	for i := range r.Docs.Len() {
		fmt.Fprintf(h, "%d:%s", len(r.Doc(i).ID), r.Doc(i).ID)
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
