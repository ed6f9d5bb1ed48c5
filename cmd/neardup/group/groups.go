// Package group compares the documents of a corpus, and groups those that are near-duplicates.
//
//	groups.go   the groups, and their names
//	found.go    what a Deduplicator finds
//	engine.go   a Deduplicator whose documents are known by their numbers
//	exact.go    the methods auto and cosine: documents go to a Deduplicator
//	state.go    the same with the documents of all calls (--state)
//	marks.go    the methods minhash and simhash: pairs of marks
//	texts.go    groups of texts, from pairs of texts
//	given.go    pairs of an earlier call instead; labels.go: labels of pairs
package group

import (
	"slices"

	"github.com/neardup/neardup/cmd/neardup/corpus"
	"github.com/neardup/neardup/cmd/neardup/options"
	"github.com/neardup/neardup/dedup"
)

// This file has groups, and says which group a document is in, by a name that lasts: the id of the first document that was kept of the group.
// With --state the directory remembers the groups of the documents that are there: a document that joins a group later is in the group of that name,
// also if it is like another member than the first.

// Groups says which documents are near-duplicates of which, and which one of them is kept.
type Groups struct {
	Kept     []int32      // for each document, the number of the document that its group keeps
	Like     map[int]Pair // for each document that is not kept, it and the one that is, unless others connect them
	Pairs    []Pair       // if they are wanted
	Families []Family
	Expected *dedup.Estimate // of all pairs; nil if that is not known
	HasKinds bool            // pairs have kinds and probabilities

	corpus *corpus.Corpus
	also   []bool  // documents that are kept beside the one of their group; nil if there are none
	names  []int32 // with --state, for each old document the one that names its group
	sizes  []int32 // see Sizes
}

// Alone returns groups of one document each.
func Alone(c *corpus.Corpus) *Groups {
	g := &Groups{Kept: make([]int32, c.Docs.Len()), Like: map[int]Pair{}, corpus: c}
	for i := range g.Kept {
		g.Kept[i] = int32(i)
	}
	return g
}

// IsKept reports whether a document is the one that its group keeps, or one of those that it keeps beside that.
func (g *Groups) IsKept(i int) bool { return int(g.Kept[i]) == i || g.also != nil && g.also[i] }

// keepOfEach keeps the first document of each source.
func (g *Groups) keepOfEach(members []int, source func(i int) int32) {
	seen := map[int32]bool{}
	for _, i := range members {
		if s := source(i); !seen[s] {
			seen[s], g.also[i] = true, true
		}
	}
}

// KeepMore makes groups keep as many documents as --copies says: those of earlier calls, the one that is kept anyway, and then the ones that --keep prefers. Of the
// documents of --against, the one that is kept counts. source returns the number of the source of a document, for one copy of each.
func (g *Groups) KeepMore(m *options.Method, source func(i int) int32) {
	if m.Copies == "1" {
		return
	}
	sizes, members := g.Sizes(), map[int][]int{}
	for i := range g.Kept {
		if named := g.Of(i); sizes[named] > 1 && (i >= g.corpus.Old || g.names != nil || named == i) {
			members[named] = append(members[named], i)
		}
	}
	isFirst := func(i int) bool { return i < g.corpus.Old || int(g.Kept[i]) == i }
	prefers := better(g.corpus, m)
	before := func(a, b int) bool {
		if isFirst(a) != isFirst(b) {
			return isFirst(a)
		}
		return prefers(a, b)
	}
	g.also = make([]bool, len(g.Kept))
	for _, of := range members {
		slices.SortStableFunc(of, func(a, b int) int {
			switch {
			case before(a, b):
				return -1
			case before(b, a):
				return 1
			}
			return 0
		})
		if m.Copies == "source" {
			g.keepOfEach(of, source)
			continue
		}
		for _, i := range of[:min(len(of), m.Budget(len(of)))] {
			g.also[i] = true
		}
	}
}

// LikeOf returns what was found of a document that is removed and the one that is kept, and whether they were compared: others may
// connect them.
func (g *Groups) LikeOf(i int) (p Pair, ok bool) {
	p, ok = g.Like[i]
	return p, ok && (p.Probability > 0 || !g.HasKinds)
}

// Duplicates returns how many new documents are not kept.
func (g *Groups) Duplicates() (n int) {
	for i := g.corpus.Old; i < len(g.Kept); i++ {
		if !g.IsKept(i) {
			n++
		}
	}
	return n
}

// Of returns the document that names the group of a document.
func (g *Groups) Of(i int) int {
	if i >= g.corpus.Old {
		i = int(g.Kept[i])
	}
	if i < len(g.names) {
		return int(g.names[i])
	}
	return i
}

// Sizes returns how many documents each group has, at the document that names it. All documents of earlier calls count that --state has; of
// those of --against, the one that is kept. The first call counts; others that come after it may run concurrently.
func (g *Groups) Sizes() []int32 {
	if g.sizes != nil {
		return g.sizes
	}
	g.sizes = make([]int32, len(g.Kept))
	for i := range g.Kept {
		if i >= g.corpus.Old || g.names != nil {
			g.sizes[g.Of(i)]++
		}
	}
	for i := range g.corpus.Old {
		if g.names == nil && g.sizes[i] > 0 {
			g.sizes[i]++
		}
	}
	return g.sizes
}

// better returns a function that reports whether a document is better to keep than another one: old ones come first, and then --keep decides.
func better(c *corpus.Corpus, m *options.Method) func(a, b int) bool {
	prefers := m.Prefers()
	return func(a, b int) bool {
		if (a < c.Old) != (b < c.Old) {
			return a < c.Old
		}
		return prefers(a, int(c.Doc(a).Length), b, int(c.Doc(b).Length))
	}
}

// link adds a pair, unless both documents are old. It returns an error if there are most pairs already.
func (g *Groups) link(p Pair, most int) error {
	if int(max(p.I, p.J)) < g.corpus.Old {
		return nil
	}
	if len(g.Pairs) >= most {
		return TooManyPairs(most)
	}
	g.Pairs = append(g.Pairs, p)
	return nil
}
