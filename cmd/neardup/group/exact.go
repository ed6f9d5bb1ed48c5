package group

import (
	"context"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/cmd/neardup/corpus"
	"github.com/neardup/neardup/cmd/neardup/load"
	"github.com/neardup/neardup/cmd/neardup/options"
	"github.com/neardup/neardup/dedup"
)

// This file has the methods auto and cosine: a Deduplicator takes the documents as they are loaded, and finds the pairs and the groups. Documents
// without letters and digits have no features, so it does not compare them; featureless finds the equal ones among them.

// An Exact compares the documents of a call, and of no others. [load.Feed] takes them.
type Exact struct {
	*load.Feed
	*engine[int]
}

// NewExact returns an Exact without documents.
func NewExact(c *corpus.Corpus, o *options.Options, fp *neardup.Fingerprinter) (*Exact, error) {
	settings := o.Deduplicator(fp, c.Log.Progress.Tell)
	d, err := dedup.New[int](settings)
	if err != nil {
		return nil, err
	}
	e := &Exact{engine: numbered(c, o, d, settings)}
	e.Feed = load.NewFeed(func(documents <-chan []load.Taken) error {
		return d.AddAll(context.Background(), load.Each(documents, load.Number, load.Document))
	})
	return e, nil
}

// Deduplicator returns the Deduplicator. Ids are numbers of documents.
func (e *Exact) Deduplicator() *dedup.Deduplicator[int] { return e.d }

// Group groups the documents once all of them have been taken. It also finds the pairs if they are wanted.
func (e *Exact) Group(wantPairs bool) (*Groups, error) {
	e.old = e.corpus.Old
	f, err := e.Find(wantPairs)
	if err != nil {
		return nil, err
	}
	return Put(e.corpus, e.o, f, wantPairs)
}

// Put returns the groups that were found, with those of equal documents that have nothing to compare.
func Put(c *corpus.Corpus, o *options.Options, f *Found, wantPairs bool) (*Groups, error) {
	g := Alone(c)
	g.HasKinds, g.Families, g.Expected = true, f.Families, f.Expected
	same := featureless(c, &o.Method)
	if wantPairs {
		most := options.MostListed(o.Memory)
		for _, same := range same {
			for k, j := range same {
				for _, i := range same[:k] {
					if err := g.link(Pair{uint32(i), uint32(j), 1, 1, neardup.Identical}, most); err != nil {
						return nil, err
					}
				}
			}
		}
		if g.Pairs == nil {
			g.Pairs = f.Pairs
		} else {
			g.Pairs = append(g.Pairs, f.Pairs...)
		}
	}
	g.putEqual(same, better(c, &o.Method))
	for _, p := range f.Like {
		if g.Kept[p.I] = int32(p.J); p.I != p.J {
			g.Like[int(p.I)] = p
		}
	}
	return g, nil
}

// putEqual makes groups of equal documents, which keep the first one by an order.
func (g *Groups) putEqual(all map[*corpus.Content][]int, before func(i, j int) bool) {
	for _, same := range all {
		root := same[0]
		for _, i := range same[1:] {
			if before(i, root) {
				root = i
			}
		}
		for _, i := range same {
			if i >= g.corpus.Old && i != root {
				g.Kept[i] = int32(root)
				g.Like[i] = Pair{uint32(i), uint32(root), 1, 1, neardup.Identical}
			}
		}
	}
}

// featureless returns the documents without features, equal ones together and in their order; none if identical ones do not count.
func featureless(c *corpus.Corpus, m *options.Method) map[*corpus.Content][]int {
	of := map[*corpus.Content][]int{}
	if m.Kinds != 0 && m.Kinds&neardup.Identical == 0 {
		return of
	}
	for i := range c.Docs.Len() {
		if d := c.Doc(i); d.Content.Empty {
			of[d.Content] = append(of[d.Content], i)
		}
	}
	return of
}
