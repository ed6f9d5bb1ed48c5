package main

import (
	"context"
	"iter"

	"github.com/neardup/neardup"
)

// With the methods auto and cosine a Deduplicator takes the texts and finds pairs and groups.

// linkages and preferences are the names that -group and -keep take.
var linkages = map[string]neardup.Linkage{"centres": neardup.Centres, "complete": neardup.CompleteLinks, "chains": neardup.Chains}

var preferences = map[string]func(a, b neardup.Document[int]) bool{
	"first":   func(a, b neardup.Document[int]) bool { return a.Number < b.Number },
	"longest": func(a, b neardup.Document[int]) bool { return a.Length > b.Length },
	"newest":  func(a, b neardup.Document[int]) bool { return a.Number > b.Number },
}

// An exact compares documents, by their numbers, exactly.
type exact struct {
	d     *neardup.Deduplicator[int]
	texts chan numbered
	done  chan struct{}
	err   error // once it is done
}

type numbered struct {
	number int
	text   string
}

// newExact returns one for the settings of a method.
func newExact(m *method, fp *neardup.Fingerprinter) (*exact, error) {
	s := neardup.DeduplicatorOptions{Fingerprinter: *fp, Similarity: m.least}
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
		e.err = d.AddAll(context.Background(), func(yield func(int, string) bool) {
			goOn := true
			for t := range e.texts { // to the end, so that nobody waits
				goOn = goOn && yield(t.number, t.text)
			}
		})
	}()
	return e, nil
}

// add takes a document; they come in the order of their numbers.
func (e *exact) add(number int, text string) { e.texts <- numbered{number, text} }

// finish waits until all documents have been read.
func (e *exact) finish() error {
	close(e.texts)
	<-e.done
	return e.err
}

// groupExactly finds the groups and, if they are wanted, the pairs.
func (c *collection) groupExactly(wantPairs bool) error {
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
		for p, err := range c.exact.d.PairsSince(context.Background(), c.old) {
			if err != nil {
				return err
			}
			c.link(uint32(p.A), uint32(p.B), p.Similarity)
		}
		for p := range c.featureless(true) {
			c.link(uint32(p.A), uint32(p.B), 1)
		}
	}
	if wantPairs && c.old == 0 { // they are known
		c.cluster = neardup.GroupPairs(len(c.docs), func(yield func(neardup.Pair[int]) bool) {
			for _, p := range c.pairs {
				if !yield(neardup.Pair[int]{A: int(p.i), B: int(p.j), Similarity: p.value}) {
					return
				}
			}
		}, g.Linkage, before)
		return nil
	}
	c.cluster = neardup.GroupPairs(len(c.docs), c.featureless(false), g.Linkage, before)
	groups, err := c.exact.d.Groups(context.Background(), g)
	for _, group := range groups {
		for _, i := range group.Members {
			c.cluster[i] = group.Keep
		}
	}
	return err
}

// featureless yields the pairs of documents without features, which only bytes can compare, that
// are equal, but for pairs of old ones; or if not all, those with the first.
func (c *collection) featureless(all bool) iter.Seq[neardup.Pair[int]] {
	return func(yield func(neardup.Pair[int]) bool) {
		of := map[*content][]int{}
		for j, d := range c.docs {
			if !d.content.isEmpty() {
				continue
			}
			with := of[d.content]
			if j >= c.old {
				for _, i := range with {
					if !yield(neardup.Pair[int]{A: i, B: j, Similarity: 1}) {
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
