package neardup

import (
	"context"
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

	// Prefer says whether to keep document a rather than b, such as the longer one:
	//
	//	func(a, b neardup.Document[string]) bool { return a.Length > b.Length }
	//
	// nil keeps the one that was added first. Between equal ones the first is kept.
	Prefer func(a, b Document[ID]) bool
}

// A Document is what Prefer is told of one.
type Document[ID comparable] struct {
	ID     ID
	Number int // in the order of adding, from 0
	Length int // of the text in characters; of a record, of all values
}

// A Group is documents that are near-duplicates, two or more.
type Group[ID comparable] struct {
	Keep    ID   // the one that represents them
	Members []ID // all, Keep too, in the order of adding
}

// Groups returns the groups of near-duplicates, in the order of their first members. A document that
// is in no group stands alone; so do groups of old documents only.
func (d *Deduplicator[ID]) Groups(ctx context.Context, g Grouping[ID]) ([]Group[ID], error) {
	if err := g.Linkage.check(); err != nil {
		return nil, err
	}
	c := d.collect(g.Old)
	for i := range c.contents { // of equal old documents one stands for all
		if docs := c.contents[i].docs; c.oldOf(docs) > 1 {
			c.contents[i].docs = slices.Concat(docs[:1], docs[c.oldOf(docs):])
		}
	}
	keep := c.keepers(&g)
	first := func(i, j int) bool { return c.before(&g, keep[i], keep[j]) }
	s := d.options()
	var of []int
	switch {
	case g.Linkage == Centres && s.Recall == 1:
		of = c.centres(ctx, s.Similarity, first)
	case g.Linkage == Chains && s.Recall == 1 && c.old == 0:
		of = c.chains(ctx, s.Similarity, first)
	default:
		fresh := func(yield func(Pair[int]) bool) {
			for p := range c.pairs(ctx, s.Similarity, s.Recall, planFrom) {
				if !(c.isOld(p.A) && c.isOld(p.B)) && !yield(Pair[int]{A: p.A, B: p.B, Similarity: p.Similarity}) {
					return
				}
			}
		}
		of = GroupPairs(len(c.contents), fresh, g.Linkage, first)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	members := make(map[int][]int)
	for i, root := range of {
		members[root] = append(members[root], c.contents[i].docs...)
	}
	var groups []Group[ID]
	var roots []int
	for root, m := range members {
		slices.Sort(m)
		if len(m) > 1 && m[len(m)-1] >= c.oldDocs {
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
	return groups, nil
}

// isOld reports whether a content has an old document.
func (c *collection[ID]) isOld(i int) bool { return c.contents[i].docs[0] < c.oldDocs }

// keepers returns for each content the position of its best document.
func (c *collection[ID]) keepers(g *Grouping[ID]) []int {
	keep := make([]int, len(c.contents))
	for i := range c.contents {
		keep[i] = c.contents[i].docs[0]
		for _, at := range c.contents[i].docs[1:] {
			if c.before(g, at, keep[i]) {
				keep[i] = at
			}
		}
	}
	return keep
}

// before reports whether the document at i should be kept rather than the one at j: old documents
// come first.
func (c *collection[ID]) before(g *Grouping[ID], i, j int) bool {
	if oldI, oldJ := i < c.oldDocs, j < c.oldDocs; oldI != oldJ {
		return oldI
	}
	if g.Prefer == nil {
		return i < j
	}
	document := func(at int) Document[ID] {
		return Document[ID]{ID: c.docs[at].id, Number: c.docs[at].number, Length: c.docs[at].length}
	}
	return g.Prefer(document(i), document(j))
}

// centres groups contents around centres, without spelling out the pairs.
func (c *collection[ID]) centres(ctx context.Context, least float64, before func(i, j int) bool) []int {
	j := cosine.NewJoin(cosine.Number(c, 2), least, func(int) bool { return true })
	return graph.CentresOf(len(c.contents), before, func(is []int, covered func(i int) bool, use func(i int, near []graph.Edge)) {
		if ctx.Err() != nil {
			is = nil // the result is thrown away
		}
		next := 0
		j.Each(is, covered, func(found []cosine.Pair) {
			near := make([]graph.Edge, 0, len(found))
			for _, f := range found {
				if !c.isOld(is[next]) || !c.isOld(f.A) {
					near = append(near, graph.Edge{To: f.A, Similarity: f.Similarity})
				}
			}
			use(is[next], near)
			next++
		})
	})
}

// chains groups contents by connected components. Pairs within a component that is known already
// are not verified: of n contents in one group about n pairs are, and not n².
func (c *collection[ID]) chains(ctx context.Context, least float64, before func(i, j int) bool) []int {
	groups := graph.NewShared(len(c.contents))
	j := cosine.NewJoin(cosine.Number(c, 2), least, func(int) bool { return true })
	j.Skip = groups.Same
	for p := range j.Pairs(0) {
		if groups.Join(p.A, p.B); ctx.Err() != nil {
			break
		}
	}
	return graph.Represent(groups.Roots(), before)
}
