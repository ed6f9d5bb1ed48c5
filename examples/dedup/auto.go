package main

import (
	"context"
	"iter"

	"github.com/neardup/neardup"
)

// This file has the methods auto and cosine: a Deduplicator takes the texts, and finds the pairs
// and the groups. Texts without letters and digits have no features, so the Deduplicator does not
// compare them; featureless finds the equal ones among them.

// linkages has what -group can name.
var linkages = map[string]neardup.Linkage{"centres": neardup.Centres, "complete": neardup.CompleteLinks, "chains": neardup.Chains}

// preferences has what -keep can name. A preference reports whether document a is better to keep
// than b.
var preferences = map[string]func(a, b neardup.Document[int]) bool{
	"first":   func(a, b neardup.Document[int]) bool { return a.Number < b.Number },
	"longest": func(a, b neardup.Document[int]) bool { return a.Length > b.Length },
	"newest":  func(a, b neardup.Document[int]) bool { return a.Number > b.Number },
}

// An exact feeds documents to a Deduplicator, in a goroutine of its own. Ids are the numbers of the
// documents.
type exact struct {
	d     *neardup.Deduplicator[int]
	texts chan numbered
	done  chan struct{}
	err   error // valid once done is closed
}

// numbered is a text and the number of its document.
type numbered struct {
	number int
	text   string
}

// newExact returns an exact with the settings of a method.
func newExact(m *method, fp *neardup.Fingerprinter) (*exact, error) {
	s := neardup.DeduplicatorOptions{Fingerprinter: *fp, Similarity: m.least, Recall: m.recall, Kinds: m.kinds}
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
			for t := range e.texts { // read all, also after an error, so that add never blocks for ever
				goOn = goOn && yield(t.number, t.text)
			}
		})
	}()
	return e, nil
}

// add adds a document. The caller adds documents in the order of their numbers.
func (e *exact) add(number int, text string) { e.texts <- numbered{number, text} }

// finish waits until the Deduplicator has all documents, and returns its error.
func (e *exact) finish() error {
	close(e.texts)
	<-e.done
	return e.err
}

// groupExactly finds the groups. It also finds c.pairs if they are wanted.
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
			c.pairs = append(c.pairs, pair{uint32(p.A), uint32(p.B), p.Similarity, p.Kind})
		}
		for p := range c.featureless(true) {
			c.pairs = append(c.pairs, pair{uint32(p.A), uint32(p.B), 1, neardup.Identical})
		}
	}
	if wantPairs && c.old == 0 { // the pairs are known already
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

// featureless yields pairs of equal documents among those without features, except pairs of two old
// ones. With all it yields every pair; otherwise only the pairs with the first document of each
// group, which is enough for grouping.
func (c *collection) featureless(all bool) iter.Seq[neardup.Pair[int]] {
	return func(yield func(neardup.Pair[int]) bool) {
		if kinds := c.method.kinds; kinds != 0 && kinds&neardup.Identical == 0 {
			return
		}
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
