package main

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/zeebo/xxh3"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/cmd/neardup/review"
	"github.com/neardup/neardup/dedup"
)

// This file makes the page in which people look at pairs (package review), for the command review and for dedup
// --report. The page has the pairs from far below the border on, so that one can see what another border would do.

const (
	leastProbability = 0.05    // where the page begins
	mostPairs        = 100_000 // what a page has at most: those closest to the border
	mostExplained    = 2_000   // of them, those with reasons
	mostText         = 50_000  // characters of a text in the page
)

type reviewCommand struct {
	inputFlags
	textFlags
	groupFlags
	runFlags
	Report string `group:"output" placeholder:"FILE.html" help:"The page to write; by default review.html, if there is no such file."`
	Quiet  bool   `group:"output" short:"q" help:"Print errors only."`
}

// Run writes the page of a collection.
func (c *reviewCommand) Run(of *call) error {
	path := c.Report
	if path == "" {
		if path = "review.html"; exists(path) {
			return fmt.Errorf("%s: there is such a file; give a name with --report", path)
		}
	}
	l, err := of.load(flags{inputFlags: c.inputFlags, textFlags: c.textFlags, groupFlags: c.groupFlags, methodFlags: usualMethod, runFlags: c.runFlags, outputFlags: outputFlags{Quiet: c.Quiet, Report: path}})
	if err != nil {
		return err
	}
	defer of.outs.Discard()
	w, err := of.outs.Create(path, of.stdout)
	if err != nil {
		return err
	}
	n, err := l.writeReport(w)
	if err == nil {
		err = of.outs.Commit()
	}
	if err == nil && !c.Quiet && path != "-" {
		_, err = fmt.Fprintf(of.stdout, "%d pairs to look at: open %s in a browser\n", n, path)
	}
	return err
}

// writeReport writes the page, and returns how many pairs it has.
func (c *loaded) writeReport(w io.Writer) (int, error) {
	ctx := context.Background()
	t, err := c.d.Threshold(ctx)
	if err != nil {
		return 0, err
	}
	groups, err := c.d.Groups(ctx, dedup.Grouping[int]{Linkage: linkages[c.method.group]})
	if err != nil {
		return 0, err
	}
	border := c.method.probability
	r := &review.Report{
		Title: "Near-duplicates in " + c.title(), Key: c.key(), Made: programVersion(), Documents: c.docs.Len(), Threshold: border,
		Reason: strings.ToUpper(t.String()[:1]) + t.String()[1:], Least: leastProbability,
	}
	for _, n := range t.Curve {
		r.Curve = append(r.Curve, float64(n))
	}
	kinds := kindNames()
	for _, k := range kinds {
		r.Kinds = append(r.Kinds, k.String())
	}
	pairs, err := c.pairsFrom(ctx, r.Least)
	if err != nil {
		return 0, err
	}
	doubt := func(p neardup.Pair[int]) float64 { return math.Abs(p.Probability - border) }
	slices.SortStableFunc(pairs, func(p, q neardup.Pair[int]) int { return cmp.Compare(doubt(p), doubt(q)) })
	if len(pairs) > mostPairs {
		r.Left = len(pairs) - mostPairs
		pairs = pairs[:mostPairs]
	}
	at := map[int]int{} // the documents of the page, by their numbers
	for _, p := range pairs {
		at[p.A], at[p.B] = 0, 0
	}
	numbers := slices.Sorted(maps.Keys(at))
	for i, n := range numbers {
		at[n] = i
		r.Docs = append(r.Docs, review.Doc{ID: c.doc(n).id, At: c.at(c.doc(n).Place)})
	}
	for n, g := range groups {
		for _, m := range g.Members {
			if i, ok := at[m]; ok {
				r.Docs[i].Group, r.Docs[i].Size, r.Docs[i].Kept = n+1, len(g.Members), m == g.Keep
			}
		}
	}
	for _, p := range pairs {
		r.Pairs = append(r.Pairs, review.Pair{A: at[p.A], B: at[p.B], Similarity: p.Similarity, Probability: p.Probability, Kind: slices.Index(kinds, p.Kind)})
	}
	err = c.textsOf(func(i int) bool { _, ok := at[i]; return ok }, func(i int, text string) bool {
		r.Docs[at[i]].Text = strings.ToValidUTF8(text, "\uFFFD")
		return true
	})
	if err != nil {
		return 0, err
	}
	if err := c.explain(r, numbers); err != nil {
		return 0, err
	}
	for i := range r.Docs {
		if text := r.Docs[i].Text; len(text) > mostText {
			cut := []rune(text)
			r.Docs[i].Text = string(cut[:min(len(cut), mostText)]) + "\n[…]"
		}
	}
	return len(r.Pairs), r.Write(w)
}

// explain sets the reasons of the most doubtful pairs. numbers has the numbers of the documents of the page.
func (c *loaded) explain(r *review.Report, numbers []int) error {
	c.progress.begin("explaining", int64(min(len(r.Pairs), mostExplained)), "")
	defer c.progress.end()
	var wg sync.WaitGroup
	var mu sync.Mutex
	var wrong error
	next, done := 0, 0
	for range min(c.o.workers, runtime.GOMAXPROCS(0)) {
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
				e, err := c.d.Explain(numbers[p.A], numbers[p.B])
				mu.Lock()
				wrong = cmp.Or(wrong, err)
				done++
				mu.Unlock()
				slices.SortStableFunc(e.Quantities, func(x, y dedup.Quantity) int { return cmp.Compare(math.Abs(y.Adds), math.Abs(x.Adds)) })
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

// pairsFrom returns the pairs of documents from a probability on, of all kinds that count.
func (c *loaded) pairsFrom(ctx context.Context, least float64) (pairs []neardup.Pair[int], err error) {
	s := c.exact.options
	s.Similarity, s.Probability = 0, least
	d, err := dedup.New[int](s)
	if err != nil {
		return nil, err
	}
	if err := d.Merge(c.d); err != nil {
		return nil, err
	}
	for p, err := range d.Pairs(ctx) {
		if err != nil {
			return nil, err
		}
		pairs = append(pairs, p)
	}
	return pairs, nil
}

// title names the inputs.
func (c *loaded) title() string {
	if len(c.sources) == 1 {
		return filepath.Base(c.sources[0].Path)
	}
	return fmt.Sprintf("%d files", len(c.sources))
}

// key tells collections apart.
func (c *loaded) key() string {
	h := xxh3.New()
	for i := range c.docs.Len() {
		fmt.Fprintf(h, "%d:%s", len(c.doc(i).id), c.doc(i).id)
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

// report writes the page of a call of dedup.
func (c *collection) report(w io.Writer, o *options, stdin io.Reader) error {
	_, err := (&loaded{c, o, c.exact.d, stdin}).writeReport(w)
	return err
}

// canReport returns what is wrong with --report, or "".
func (o *options) canReport() string {
	switch {
	case o.report == "":
		return ""
	case !o.method.isExact():
		return "--report can only be used with --method auto and cosine"
	case o.against != "" || o.state != "":
		return "--report cannot be used with --against or --state"
	case o.cols.IsRecord:
		return "--report shows documents, not records"
	case !strings.HasSuffix(strings.ToLower(o.report), ".html") && o.report != "-" && o.report != os.DevNull:
		return fmt.Sprintf("--report %q: the name must end in .html", o.report)
	}
	return ""
}
