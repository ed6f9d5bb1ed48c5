package group

import (
	"context"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/cmd/neardup/corpus"
	"github.com/neardup/neardup/cmd/neardup/options"
	"github.com/neardup/neardup/dedup"
)

// This file has a Deduplicator whose documents are known by their numbers in the corpus, whatever their ids are.

// An Engine is a Deduplicator with the documents of a call.
type Engine interface {
	// Find finds the pairs, if they are wanted, and the groups.
	Find(wantPairs bool) (*Found, error)
	// Estimate says how right the decisions are expected to be; see [dedup.Deduplicator.Estimate].
	Estimate() (dedup.Estimate, error)
	// PairsFrom returns the pairs with a new document from a probability on.
	PairsFrom(least float64) ([]neardup.Pair[int], error)
	// Explain says why two documents are near-duplicates, or not.
	Explain(a, b int) (dedup.Explanation, error)
	// Text returns the text of a document of an earlier call.
	Text(i int) (string, error)
}

// An engine is an Engine.
type engine[ID comparable] struct {
	d        *dedup.Deduplicator[ID]
	settings dedup.Options
	corpus   *corpus.Corpus
	o        *options.Options
	old      int // documents of d with smaller numbers are old
	number   func(ID) int
	id       func(int) ID
}

// itself is the number of a document whose id is its number.
func itself(i int) int { return i }

// NewEngine returns an Engine for a Deduplicator with new documents whose ids are their numbers.
func NewEngine(c *corpus.Corpus, o *options.Options, d *dedup.Deduplicator[int], settings dedup.Options) Engine {
	return numbered(c, o, d, settings)
}

// numbered is NewEngine.
func numbered(c *corpus.Corpus, o *options.Options, d *dedup.Deduplicator[int], settings dedup.Options) *engine[int] {
	return &engine[int]{d: d, settings: settings, corpus: c, o: o, number: itself, id: itself}
}

func (e *engine[ID]) Find(wantPairs bool) (*Found, error) {
	f, ctx := &Found{}, context.Background()
	if wantPairs {
		most := options.MostListed(e.o.Memory)
		for p, err := range e.d.PairsSince(ctx, e.old) {
			if err != nil {
				return nil, err
			}
			if len(f.Pairs) >= most {
				return nil, TooManyPairs(most)
			}
			f.Pairs = append(f.Pairs, Pair{uint32(e.number(p.A)), uint32(e.number(p.B)), p.Similarity, p.Probability, p.Kind})
		}
	}
	prefers := e.o.Method.Prefers()
	groups, err := e.d.Groups(ctx, dedup.GroupOptions[ID]{Linkage: e.o.Method.Linkage(), Old: e.old, Prefer: func(a, b dedup.Entry[ID]) bool {
		return prefers(a.Sequence, a.Length, b.Sequence, b.Length)
	}})
	if err != nil {
		return nil, err
	}
	for _, group := range groups {
		root := e.number(group.Keep)
		for k, id := range group.Members {
			m := group.Matches[k]
			f.Like = append(f.Like, Pair{uint32(e.number(id)), uint32(root), m.Similarity, m.Probability, m.Kind})
		}
	}
	families, err := e.d.FamiliesSince(ctx, e.old)
	for _, family := range families {
		f.Families = append(f.Families, Family{len(family.Members), family.Form, family.Filled})
	}
	sortFamilies(f.Families)
	if err != nil {
		return nil, err
	}
	// What takes no time: there may have been too many pairs to keep them.
	known, done := context.WithCancel(ctx)
	done()
	if expected, err := e.d.Estimate(known); err == nil {
		f.Expected = &expected
	}
	return f, nil
}

func (e *engine[ID]) Estimate() (dedup.Estimate, error) { return e.d.Estimate(context.Background()) }

func (e *engine[ID]) PairsFrom(least float64) (pairs []neardup.Pair[int], err error) {
	s := e.settings
	s.Similarity, s.Probability = 0, least
	d, err := dedup.New[ID](s)
	if err != nil {
		return nil, err
	}
	if err := d.Merge(e.d); err != nil {
		return nil, err
	}
	most := options.MostListed(e.o.Memory)
	for p, err := range d.PairsSince(context.Background(), e.corpus.Old) {
		if err != nil {
			return nil, err
		}
		if len(pairs) >= most {
			return nil, TooManyPairs(most)
		}
		pairs = append(pairs, neardup.Pair[int]{A: e.number(p.A), B: e.number(p.B), Similarity: p.Similarity, Probability: p.Probability, Kind: p.Kind})
	}
	return pairs, nil
}

func (e *engine[ID]) Explain(a, b int) (dedup.Explanation, error) {
	return e.d.Explain(e.id(a), e.id(b))
}

func (e *engine[ID]) Text(i int) (string, error) {
	text, _, err := e.d.Text(e.id(i))
	return text, err
}
