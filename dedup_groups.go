package neardup

import (
	"cmp"
	"context"
	"slices"

	"github.com/neardup/neardup/internal/cosine"
	"github.com/neardup/neardup/internal/graph"
)

// This file turns pairs of near-duplicates into groups. Groups are made of contents, not of
// documents, so exact copies come along for free. In the two common cases, Centres and Chains with
// all pairs wanted, the join and the grouping work together: the join then skips pairs that cannot
// change a group. All other cases find the pairs first and call GroupPairs.

// A Grouping says how [Deduplicator.Groups] makes groups, and which document of each it keeps. The
// zero value groups around [Centres] and keeps the longest document of a group. So groups depend on
// nothing but the documents, whatever the order in which they were added.
type Grouping[ID comparable] struct {
	// Linkage says which pairs make a group; see its constants.
	Linkage Linkage

	// Old says that the first Old documents that were ever added (by [Document.Number]) are old.
	// Old documents are kept in preference to new ones, and are not compared with each other. Of
	// equal old documents only the first appears in a group. A new document that equals an old one
	// is treated as old itself: it is not compared with other old ones. (If [Identical] or [SameWords]
	// is left out, every document is for itself.)
	Old int

	// Prefer reports whether to keep document a rather than b. This keeps the one that was added
	// first, and then groups depend on the order of adding too:
	//
	//	func(a, b neardup.Document[string]) bool { return a.Number < b.Number }
	//
	// It must be a strict weak order, like the less function of a sort. If neither of two is
	// preferred, or Prefer is nil, the longer one is kept. Of two that are equally long, a hash
	// decides; of identical ones, the first one is kept.
	Prefer func(a, b Document[ID]) bool
}

// A Document describes a stored document, for [Grouping].Prefer and [Deduplicator.Get].
type Document[ID comparable] struct {
	ID     ID
	Number int // how many documents were added before it; never reused
	Length int // in characters of the text before normalizing, or of all values of a record
}

// A Group is two or more documents that are near-duplicates as the Linkage says.
type Group[ID comparable] struct {
	Keep    ID   // the member that represents the group
	Members []ID // all members in the order of adding, Keep included

	// Kinds says how each member differs from Keep, in the order of Members. Keep is Identical to
	// itself. A pair of other members may have any kind.
	Kinds []Kind
}

// Groups returns the groups of near-duplicates, in the order of their first members. Every document
// is in one group at most. A document in none stands alone: it has no near-duplicates, or they are
// in other groups. Groups without a new document are not returned (see Grouping.Old). It returns an
// error for an unknown Linkage, and the error of the context or of the files. It groups the documents
// that are there when it is called. A pair that is not found may split a group.
func (d *Deduplicator[ID]) Groups(ctx context.Context, g Grouping[ID]) ([]Group[ID], error) {
	if err := g.Linkage.check(); err != nil {
		return nil, err
	}
	c, err := d.collect(ctx, g.Old)
	if err != nil {
		return nil, err
	}
	if c.settings.Kinds&(Identical|SameWords) != Identical|SameWords {
		of := c.groupDocuments(ctx, &g)
		if err := cmp.Or(ctx.Err(), c.err()); err != nil {
			return nil, err
		}
		return c.groupsOf(of), nil
	}
	for i := range c.contents { // one of several equal old documents stands for all
		if docs := c.contents[i].docs; c.oldOf(docs) > 1 {
			c.contents[i].docs = slices.Concat(docs[:1], docs[c.oldOf(docs):])
		}
	}
	keep := c.keepers(&g)
	byContent := c.group(ctx, g.Linkage, func(i, j int) bool { return c.before(&g, keep[i], keep[j]) })
	if err := cmp.Or(ctx.Err(), c.err()); err != nil {
		return nil, err
	}
	return c.groupsOf(c.spread(byContent, keep)), nil
}

// groupDocuments returns for each document, by position, the one that represents its group, where
// documents of one content need not be in one group.
func (c *collection[ID]) groupDocuments(ctx context.Context, g *Grouping[ID]) []int {
	// Documents are numbered by their contents and texts, so that ties do not depend on the order of
	// adding.
	var byNumber []int
	for i := range c.contents {
		byNumber = append(byNumber, c.byText(c.contents[i].docs)...)
	}
	number := make([]int, len(c.docs))
	for n, at := range byNumber {
		number[at] = n
	}
	pairs := func(yield func(Pair[int]) bool) {
		for p := range c.documentPairs(ctx, c.least(ctx), c.settings.Kinds) {
			a, b := number[p.A], number[p.B]
			if !yield(Pair[int]{A: min(a, b), B: max(a, b), Similarity: p.Similarity}) {
				return
			}
		}
	}
	byGroup := GroupPairs(len(byNumber), pairs, g.Linkage, func(i, j int) bool { return c.before(g, byNumber[i], byNumber[j]) })
	of := slices.Repeat([]int{-1}, len(c.docs))
	for n, root := range byGroup {
		of[byNumber[n]] = byNumber[root]
	}
	return of
}

// byText returns documents of one content sorted by a hash of their texts; those with equal texts
// stay in the order of adding.
func (c *collection[ID]) byText(docs []int) []int {
	docs = slices.Clone(docs)
	slices.SortStableFunc(docs, func(i, j int) int { return cmp.Compare(c.docs[i].text, c.docs[j].text) })
	return docs
}

// spread returns for each document, by position, the one that represents its group, from the
// contents that represent those of contents. It is -1 for documents without features, and for old ones
// that another one stands for.
func (c *collection[ID]) spread(byContent, keep []int) (of []int) {
	of = slices.Repeat([]int{-1}, len(c.docs))
	for i, root := range byContent {
		for _, at := range c.contents[i].docs {
			of[at] = keep[root]
		}
	}
	return of
}

// group returns, for each content, the content that represents its group. If the context ends the
// result means nothing.
func (c *collection[ID]) group(ctx context.Context, by Linkage, first func(i, j int) bool) []int {
	least, kinds := c.least(ctx), c.settings.Kinds
	switch {
	case by == Centres:
		return c.centres(ctx, least, kinds, first)
	case by == Chains && c.oldDocs == 0:
		return c.chains(ctx, least, kinds, first)
	}
	// Documents that equal an old one are in old contents, so this leaves out more pairs than
	// c.pairs does.
	fresh := func(yield func(Pair[int]) bool) {
		for p := range c.pairs(ctx, least, kinds) {
			if !(c.isOld(p.A) && c.isOld(p.B)) && !yield(Pair[int]{A: p.A, B: p.B, Similarity: p.Similarity}) {
				return
			}
		}
	}
	return GroupPairs(len(c.contents), fresh, by, first)
}

// groupsOf returns the groups of two or more documents that have a new one, in the order of their
// first members. of has the position of the document that represents the group of each, or -1.
func (c *collection[ID]) groupsOf(of []int) []Group[ID] {
	content := c.contentsOf()
	// The members of each group, by the document that represents it, and these in the order of the
	// first members.
	members := map[int][]int{}
	var roots []int
	for at, root := range of {
		if root < 0 {
			continue
		}
		if members[root] = append(members[root], at); len(members[root]) == 1 {
			roots = append(roots, root)
		}
	}
	var groups []Group[ID]
	for _, root := range roots {
		m := members[root]
		if len(m) < 2 || m[len(m)-1] < c.oldDocs {
			continue
		}
		group := Group[ID]{Keep: c.docs[root].id}
		for _, at := range m {
			kind := c.equalKind(at, root)
			if content[at] != content[root] {
				kind = c.kind(content[at], content[root])
			}
			group.Members, group.Kinds = append(group.Members, c.docs[at].id), append(group.Kinds, kind)
		}
		groups = append(groups, group)
	}
	return groups
}

// isOld reports whether a content has an old document. Its new documents are then treated as old.
func (c *collection[ID]) isOld(i int) bool { return c.contents[i].docs[0] < c.oldDocs }

// keepers returns, for each content, the position of the document to keep.
func (c *collection[ID]) keepers(g *Grouping[ID]) []int {
	keep := make([]int, len(c.contents))
	for i := range c.contents {
		docs := c.byText(c.contents[i].docs)
		keep[i] = docs[0]
		for _, at := range docs[1:] {
			if c.before(g, at, keep[i]) {
				keep[i] = at
			}
		}
	}
	return keep
}

// before reports whether to keep the document at position i rather than the one at j. Old documents
// come before new ones, whatever Prefer says.
func (c *collection[ID]) before(g *Grouping[ID], i, j int) bool {
	if oldI, oldJ := i < c.oldDocs, j < c.oldDocs; oldI != oldJ {
		return oldI
	}
	longer := c.docs[i].length > c.docs[j].length
	if g.Prefer == nil {
		return longer
	}
	document := func(at int) Document[ID] {
		return Document[ID]{ID: c.docs[at].id, Number: c.docs[at].number, Length: c.docs[at].length}
	}
	a, b := document(i), document(j)
	return g.Prefer(a, b) || longer && !g.Prefer(b, a)
}

// centres groups contents around centres. It searches the neighbours of centres only. A content
// that belongs to a centre is never searched for itself, so a large group costs little more than
// its one centre.
func (c *collection[ID]) centres(ctx context.Context, least float64, kinds Kind, before func(i, j int) bool) []int {
	j := c.joiner(least, kinds)
	return graph.CentresOf(len(c.contents), before, func(is []int, covered func(i int) bool, use func(i int, near []graph.Edge)) {
		if ctx.Err() != nil {
			is = nil // Groups returns the error, and no groups
		}
		next := 0 // the position in is of the vertex whose neighbours come next
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

// chains groups contents by connected components, without spelling out the pairs of a component.
func (c *collection[ID]) chains(ctx context.Context, least float64, kinds Kind, before func(i, j int) bool) []int {
	j := c.joiner(least, kinds)
	of := graph.ComponentsOf(len(c.contents), func(is []int, use func(i int, near []graph.Edge)) {
		if ctx.Err() != nil {
			return // the result is thrown away
		}
		next := 0
		j.Each(is, func(int) bool { return false }, func(found []cosine.Pair) {
			near := make([]graph.Edge, len(found))
			for k, f := range found {
				near[k] = graph.Edge{To: f.A, Similarity: f.Similarity}
			}
			use(is[next], near)
			next++
		})
	}, j.Drop)
	return graph.Represent(of, before)
}
