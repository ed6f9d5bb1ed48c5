package neardup

import (
	"slices"

	"github.com/neardup/neardup/internal/cosine"
	"github.com/neardup/neardup/internal/graph"
)

// A Grouping says how [Deduplicator.Groups] groups. The zero value: around Centres, and the
// first of each group is kept.
type Grouping[ID comparable] struct {
	Linkage Linkage

	// Old is the number of documents, in the order of adding, that are old: they are kept before
	// others, and are not compared with each other. Of equal ones only the first is found, and a new
	// document that is equal to an old one counts as that.
	Old int

	// Prefer says whether to keep document a rather than b: First, Longest, Newest or a function of
	// one's own. nil means First. Between equal ones the first is kept.
	Prefer func(a, b Document[ID]) bool
}

// A Document is what Prefer is told of one.
type Document[ID comparable] struct {
	ID     ID
	Number int // in the order of adding, from 0
	Length int // of the text in characters; of a record, of all values
}

// First prefers the document that was added first.
func First[ID comparable](a, b Document[ID]) bool { return a.Number < b.Number }

// Longest prefers the longest document.
func Longest[ID comparable](a, b Document[ID]) bool { return a.Length > b.Length }

// Newest prefers the document that was added last.
func Newest[ID comparable](a, b Document[ID]) bool { return a.Number > b.Number }

// A Group is documents that are near-duplicates, two or more.
type Group[ID comparable] struct {
	Keep    ID   // the one that represents them
	Members []ID // all, Keep too, in the order of adding
}

// Groups returns the groups of near-duplicates, in the order of their first members. What is in
// no group stands alone; so do groups of old documents only.
func (d *Deduplicator[ID]) Groups(g Grouping[ID]) []Group[ID] {
	c := d.collect(g.Old)
	for i := range c.contents { // of equal old documents one stands for all
		if docs := c.contents[i].docs; c.oldOf(docs) > 1 {
			c.contents[i].docs = slices.Concat(docs[:1], docs[c.oldOf(docs):])
		}
	}
	isOld := func(i int) bool { return c.contents[i].docs[0] < g.Old }
	fresh := func(yield func(SimilarPair[int]) bool) {
		for p := range c.pairs(d.settings.Similarity, d.settings.Recall, planFrom) {
			if !(isOld(p.A) && isOld(p.B)) && !yield(SimilarPair[int](p)) {
				return
			}
		}
	}
	document := func(at int) Document[ID] { return Document[ID]{c.docs[at].id, at, c.docs[at].length} }
	prefer := g.Prefer
	if prefer == nil {
		prefer = First[ID]
	}
	before := func(i, j int) bool { // of two documents
		if i < g.Old || j < g.Old {
			return i < j && j >= g.Old || i < g.Old && j < g.Old && prefer(document(i), document(j))
		}
		return prefer(document(i), document(j))
	}
	keep := make([]int, len(c.contents)) // the best document of each content
	for i := range c.contents {
		keep[i] = c.contents[i].docs[0]
		for _, at := range c.contents[i].docs[1:] {
			if before(at, keep[i]) {
				keep[i] = at
			}
		}
	}
	first := func(i, j int) bool { return before(keep[i], keep[j]) }
	var of []int
	if g.Linkage == Centres && d.settings.Recall == 1 {
		of = c.centres(d.settings.Similarity, isOld, first)
	} else {
		of = GroupPairs(len(c.contents), fresh, g.Linkage, first)
	}
	members := make(map[int][]int)
	for i, root := range of {
		members[root] = append(members[root], c.contents[i].docs...)
	}
	var groups []Group[ID]
	var roots []int
	for root, m := range members {
		slices.Sort(m)
		if len(m) > 1 && m[len(m)-1] >= g.Old {
			roots = append(roots, root)
		}
	}
	slices.SortFunc(roots, func(a, b int) int { return members[a][0] - members[b][0] })
	for _, root := range roots {
		group := Group[ID]{Keep: c.docs[keep[root]].id}
		for _, at := range members[root] {
			group.Members = append(group.Members, c.docs[at].id)
		}
		groups = append(groups, group)
	}
	return groups
}

// centres groups contents around centres, without spelling out the pairs.
func (c *collection[ID]) centres(least float64, isOld func(i int) bool, before func(i, j int) bool) []int {
	j := cosine.NewJoin(cosine.Number(c, 2), least, func(int) bool { return true })
	return graph.CentresOf(len(c.contents), before, func(is []int, use func(i int, near []graph.Edge)) {
		next := 0
		j.Each(is, func(found []cosine.Pair) {
			near := make([]graph.Edge, 0, len(found))
			for _, f := range found {
				if !isOld(is[next]) || !isOld(f.A) {
					near = append(near, graph.Edge{To: f.A, Similarity: f.Similarity})
				}
			}
			use(is[next], near)
			next++
		})
	})
}
