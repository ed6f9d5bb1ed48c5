package main

import (
	"iter"

	"github.com/neardup/neardup"
)

// With the methods auto and cosine a Deduplicator takes the texts and finds pairs and groups.

// linkages and preferences are the names that -group and -keep take.
var linkages = map[string]neardup.Linkage{"centres": neardup.Centres, "complete": neardup.CompleteLinks, "chains": neardup.Chains}

var preferences = map[string]func(a, b neardup.Document[int]) bool{
	"first": neardup.First[int], "longest": neardup.Longest[int], "newest": neardup.Newest[int]}

// An exact compares documents, by their numbers, exactly.
type exact struct {
	d     *neardup.Deduplicator[int]
	texts chan numbered
	done  chan struct{}
}

type numbered struct {
	number int
	text   string
}

// newExact returns one for the settings of a method.
func newExact(m *method, fp *neardup.Fingerprinter) (*exact, error) {
	s := neardup.Settings{Fingerprinter: *fp, Similarity: m.least}
	if m.name == "auto" {
		s.Fingerprinter.Tokenizer = nil
	}
	if m.weighs && fp.Weight == nil {
		s.Fingerprinter.Weight = neardup.Count
	}
	d, err := neardup.NewDeduplicator[int](s)
	if err != nil {
		return nil, err
	}
	e := &exact{d: d, texts: make(chan numbered, 256), done: make(chan struct{})}
	go func() {
		defer close(e.done)
		d.AddAll(func(yield func(int, string) bool) {
			for t := range e.texts {
				yield(t.number, t.text)
			}
		})
	}()
	return e, nil
}

// add takes a document; they come in the order of their numbers.
func (e *exact) add(number int, text string) { e.texts <- numbered{number, text} }

// finish waits until all documents have been read.
func (e *exact) finish() {
	close(e.texts)
	<-e.done
}

// groupExactly finds the groups and, if they are wanted, the pairs.
func (c *collection) groupExactly(wantPairs bool) {
	g := neardup.Grouping[int]{Linkage: linkages[c.method.group], Prefer: preferences[c.method.keep], Old: c.old}
	document := func(i int) neardup.Document[int] {
		return neardup.Document[int]{ID: i, Number: i, Length: c.docs[i].length}
	}
	before := func(i, j int) bool {
		if (i < c.old) != (j < c.old) {
			return i < c.old
		}
		return g.Prefer(document(i), document(j))
	}
	if wantPairs {
		for p := range c.exact.d.PairsSince(c.old) {
			c.link(uint32(p.A), uint32(p.B), p.Similarity)
		}
		for p := range c.featureless(true) {
			c.link(uint32(p.A), uint32(p.B), 1)
		}
	}
	if wantPairs && c.old == 0 { // they are known
		c.cluster = neardup.GroupPairs(len(c.docs), func(yield func(neardup.SimilarPair[int]) bool) {
			for _, p := range c.pairs {
				if !yield(neardup.SimilarPair[int]{A: int(p.i), B: int(p.j), Similarity: p.value}) {
					return
				}
			}
		}, g.Linkage, before)
		return
	}
	c.cluster = neardup.GroupPairs(len(c.docs), c.featureless(false), g.Linkage, before)
	for _, group := range c.exact.d.Groups(g) {
		for _, i := range group.Members {
			c.cluster[i] = group.Keep
		}
	}
}

// featureless yields the pairs of documents without features, which only bytes can compare, that
// are equal, but for pairs of old ones; or if not all, those with the first.
func (c *collection) featureless(all bool) iter.Seq[neardup.SimilarPair[int]] {
	return func(yield func(neardup.SimilarPair[int]) bool) {
		of := map[*content][]int{}
		for j, d := range c.docs {
			if !d.content.isEmpty() {
				continue
			}
			with := of[d.content]
			if j >= c.old {
				for _, i := range with {
					if !yield(neardup.SimilarPair[int]{A: i, B: j, Similarity: 1}) {
						return
					}
				}
			}
			if all || len(with) == 0 {
				of[d.content] = append(with, j)
			}
		}
	}
}
