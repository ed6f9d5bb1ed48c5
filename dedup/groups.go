package dedup

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/internal/graph"
	"github.com/neardup/neardup/internal/parallel"
)

// This file turns pairs of near-duplicates into groups. Groups are made of contents, not of documents, so exact
// copies come along for free. Three steps follow each other:
//
//	group     which content represents the group of each content
//	spread    the same by documents
//	groupsOf  which document each group keeps (keep.go), and how similar the others are to it
//
// If equal documents do not all count as near-duplicates, documents of one content may belong to different
// groups. Then groupDocuments does the first two steps with documents.
//
// Nothing here may depend on the order of adding. Contents are numbered by their digests, and where two documents
// are equally good, their lengths and the hashes of their texts decide, and their slots only for equal texts.

// GroupOptions say how [Deduplicator.Groups] makes groups, and which document of each it keeps. The zero value
// groups by [neardup.CentreLinkage]: the longest document becomes the first centre, its near-duplicates join
// its group, and so on. Groups depend only on the documents, whatever the order in which they were added.
type GroupOptions[ID comparable] struct {
	// Linkage says which pairs make a group; see its constants.
	Linkage neardup.Linkage

	// Old says that the first Old documents that were ever added (by [Entry.Sequence]) are old. Old documents
	// are kept in preference to new ones, and are not compared with each other. Of equal old documents only the
	// first appears in a group. A new document that equals an old one is treated as old itself: it is not
	// compared with other old ones. (If [neardup.Identical] or [neardup.SameWords] does not count, equal
	// documents are treated one by one.)
	Old int

	// Prefer reports whether to keep document a rather than b. This keeps the one that was added first:
	//
	//	func(a, b dedup.Entry[string]) bool { return a.Sequence < b.Sequence }
	//
	// It must be a strict weak order, like the less function of a sort; several goroutines may call it. If
	// neither of two is preferred, or Prefer is nil, the longer one is kept. Of two that are equally long, a
	// hash decides; of identical ones, the first one is kept. Prefer chooses within groups and does not change
	// them. No two documents that are kept may be near-duplicates, and every other one must be a near-duplicate
	// of the one that its group keeps. So a member can be kept only if all other members are near-duplicates of
	// it, and it is not a near-duplicate of a document that another group keeps. The eight that Prefer likes
	// best are tried in turn, and if none of them qualifies, the member that represents the group is kept. With
	// [neardup.SingleLinkage], any member can be.
	Prefer func(a, b Entry[ID]) bool
}

// Groups returns the groups of near-duplicates, in the order of their first members. Every document is in one
// group at most. A document in none stands alone: it has no near-duplicates, or they are in other groups. Groups
// without a new document are not returned (see GroupOptions.Old). It returns an error for an unknown Linkage,
// and the error of the context or of the files. It groups the documents that are there when it is called.
func (d *Deduplicator[ID]) Groups(ctx context.Context, g GroupOptions[ID]) ([]neardup.Group[ID], error) {
	if g.Linkage > neardup.SingleLinkage {
		return nil, fmt.Errorf("neardup: Linkage %d is not CentreLinkage, CompleteLinkage or SingleLinkage", g.Linkage)
	}
	s, err := d.snapshot(g.Old)
	if err != nil {
		return nil, err
	}
	var of []uint32 // for each document the one that represents its group, or gone
	if s.options.Kinds&(neardup.Identical|neardup.SameWords) != neardup.Identical|neardup.SameWords {
		of = s.groupDocuments(ctx, &g)
	} else {
		s.oneOld = true // of several equal old documents only the first appears in a group
		byContent := s.group(ctx, &g)
		if err := cmp.Or(ctx.Err(), s.files()); err != nil {
			return nil, err // then some contents may be in no group
		}
		of = s.spread(byContent)
	}
	if err := cmp.Or(ctx.Err(), s.files()); err != nil {
		return nil, err
	}
	groups := s.groupsOf(ctx, &g, of)
	return groups, cmp.Or(ctx.Err(), s.files())
}

// isOld reports whether a content has an old document. Its new documents are then treated as old.
func (s *snapshot[ID]) isOld(i int32) bool { return s.chain(int(i)).first < s.oldDocs }

// before reports whether a document represents a group rather than another one: old ones come first, so that
// they are kept and new ones join them, then longer ones. The order of adding does not matter: what is equal by
// this order comes in the order of its positions.
func (s *snapshot[ID]) before(a, b uint32) bool {
	if oldA, oldB := a < s.oldDocs, b < s.oldDocs; oldA != oldB {
		return oldA
	}
	return s.docs.At(a).length > s.docs.At(b).length
}

// stands returns the document that stands for a content: the first by before, of equally long ones that
// with the smallest hash.
func (s *snapshot[ID]) stands(i int32) uint32 {
	c := s.chain(int(i))
	if c.first == c.last {
		return c.first
	}
	docs := s.of(int(i), nil)
	best := docs[0]
	for _, at := range docs[1:] {
		if s.before(at, best) || !s.before(best, at) && s.docs.At(at).text < s.docs.At(best).text {
			best = at
		}
	}
	return best
}

// group returns, for each content, the content that represents its group. If the context ends
// the result means nothing.
//
// Centres need only the edges of centres, so they can be found when there are too many edges to keep, or a
// crowd. The other linkages need all edges, and take the memory for them.
func (s *snapshot[ID]) group(ctx context.Context, g *GroupOptions[ID]) []int32 {
	if g.Linkage == neardup.CentreLinkage && s.ready(ctx) && (!s.crowd().isEmpty() || s.edges(ctx) == nil) {
		return s.centres(ctx)
	}
	var joins []edge
	for e := range s.stream(ctx) {
		if s.joins(&e) {
			joins = append(joins, e)
		}
	}
	of := s.joined(joins) // most contents are in no pair, and take no part
	at, before := s.among(of)
	byContent := s.alone()
	for n, root := range represent(len(of), pairsOf(joins, at), g.Linkage, before) {
		byContent[of[n]] = of[root]
	}
	return byContent
}

// represent is [neardup.GroupPairs] for pairs without errors and a linkage that was checked, which
// is all that could fail.
func represent(n int, pairs iter.Seq2[neardup.Pair[int], error], by neardup.Linkage, before func(i, j int) bool) []int {
	of, _ := neardup.GroupPairs(n, pairs, by, before)
	return of
}

// pairsOf yields joins as pairs of positions, which at has by content.
func pairsOf(joins []edge, at []int32) iter.Seq2[neardup.Pair[int], error] {
	return func(yield func(neardup.Pair[int], error) bool) {
		for _, e := range joins {
			if !yield(neardup.Pair[int]{A: int(at[e.a]), B: int(at[e.b]), Similarity: e.similarity}, nil) {
				return
			}
		}
	}
}

// among numbers some contents, ascending. It returns their numbers by position, and which of two numbers
// represents a group. at is 0 for all other contents, so it must not be asked about them.
func (s *snapshot[ID]) among(of []int32) (at []int32, before func(i, j int) bool) {
	at = make([]int32, len(s.order))
	stands := make([]uint32, len(of))
	for n, i := range of {
		at[i], stands[n] = int32(n), s.stands(i)
	}
	return at, func(i, j int) bool { return s.before(stands[i], stands[j]) }
}

// alone returns groups of one content each.
func (s *snapshot[ID]) alone() []int32 {
	byContent := make([]int32, len(s.order))
	for i := range byContent {
		byContent[i] = int32(i)
	}
	return byContent
}

// joins reports whether an edge joins two contents: it counts, and they are not both old. Documents that equal
// an old one are old here, as GroupOptions.Old promises.
func (s *snapshot[ID]) joins(e *edge) bool {
	return e.kind&s.options.Kinds != 0 && !(s.isOld(e.a) && s.isOld(e.b))
}

// centres groups contents around centres where there are more edges than can be kept, or more than anybody can
// wait for: only those of centres are looked up.
func (s *snapshot[ID]) centres(ctx context.Context) []int32 {
	byContent := s.alone()
	if !s.ready(ctx) {
		return byContent
	}
	beside, of := s.beside(ctx), s.reached()
	old := s.withOld(ctx, beside)
	at, before := s.among(of)
	for n, root := range graph.CentresOf(len(of), before, func(is []int, covered func(i int) bool, use func(i int, near []graph.Edge)) {
		if ctx.Err() != nil {
			return // Groups returns the error, and no groups
		}
		contents := make([]int32, len(is))
		for k, i := range is {
			contents[k] = of[i]
		}
		s.lookUp(ctx, contents, beside, old, func(i int32) bool { return covered(int(at[i])) }, func(i int32, found []edge) {
			near := make([]graph.Edge, 0, len(found))
			for _, e := range found {
				if s.joins(&e) {
					near = append(near, graph.Edge{To: int(at[e.a]), Similarity: e.similarity})
				}
			}
			use(int(at[i]), near)
		})
	}) {
		byContent[of[n]] = of[root]
	}
	return byContent
}

// groupDocuments is group and spread where documents of one content need not be in one group.
func (s *snapshot[ID]) groupDocuments(ctx context.Context, g *GroupOptions[ID]) []uint32 {
	// Documents are numbered by their contents and texts, so that ties do not depend on the order of adding.
	var byNumber, docs []uint32
	for i := range s.order {
		docs = s.of(i, docs)
		slices.SortStableFunc(docs, func(a, b uint32) int { return cmp.Compare(s.docs.At(a).text, s.docs.At(b).text) })
		byNumber = append(byNumber, docs...)
	}
	number := make([]int, s.docs.Len())
	for n, at := range byNumber {
		number[at] = n
	}
	pairs := func(yield func(neardup.Pair[int], error) bool) {
		for p := range s.documentPairs(ctx) {
			a, b := number[p.a], number[p.b]
			if !yield(neardup.Pair[int]{A: min(a, b), B: max(a, b), Similarity: p.similarity}, nil) {
				return
			}
		}
	}
	byGroup := represent(len(byNumber), pairs, g.Linkage, func(i, j int) bool { return s.before(byNumber[i], byNumber[j]) })
	of := slices.Repeat([]uint32{gone}, s.docs.Len())
	for n, root := range byGroup {
		of[byNumber[n]] = byNumber[root]
	}
	return of
}

// spread returns for each document the one that represents its group, given the content that represents the group
// of each content. It is gone for documents without features, and for old ones that equal an earlier old one.
func (s *snapshot[ID]) spread(byContent []int32) []uint32 {
	stands := make([]uint32, len(s.order)) // for the contents that represent others
	parallel.Chunks(len(s.order), func(_, from, to int) {
		for i := from; i < to; i++ {
			stands[i] = s.stands(int32(i))
		}
	})
	of := make([]uint32, s.docs.Len())
	parallel.Chunks(len(of), func(_, from, to int) {
		for at := uint32(from); at < uint32(to); at++ {
			i := s.contentOf(at)
			if of[at] = gone; i >= 0 && !(s.oneOld && at < s.oldDocs && at != s.chain(int(i)).first) {
				of[at] = stands[byContent[i]]
			}
		}
	})
	return of
}

// A grouped is the groups of two or more documents, in the order of their first members.
type grouped struct {
	roots   []uint32 // the documents that represent them
	members [][]uint32
}

// membersOf returns the groups of two or more that have a new document. of has for each document the one that
// represents its group, or gone. Members ascend, so the last one says whether a group has a new document.
// Groups share large pieces of memory, since there may be very many small ones.
func (s *snapshot[ID]) membersOf(of []uint32) (g grouped) {
	sizes := make([]uint32, len(of)) // of each group, by the document that represents it
	for _, root := range of {
		if root != gone {
			sizes[root]++
		}
	}
	number, all := map[uint32]int{}, []uint32(nil)
	for at, root := range of {
		if root == gone || sizes[root] < 2 {
			continue
		}
		n, ok := number[root]
		if !ok {
			n = len(g.roots)
			number[root] = n
			from := len(all)
			all = slices.Grow(all, int(sizes[root]))
			g.roots, g.members, all = append(g.roots, root), append(g.members, all[from:from:from+int(sizes[root])]), all[:from+int(sizes[root])]
		}
		g.members[n] = append(g.members[n], uint32(at))
	}
	var fresh grouped
	for n, m := range g.members {
		if m[len(m)-1] >= s.oldDocs {
			fresh.roots, fresh.members = append(fresh.roots, g.roots[n]), append(fresh.members, m)
		}
	}
	return fresh
}

// groupsOf returns the groups of two or more documents that have a new one, in the order of their first
// members. What each group keeps is chosen before any match is described, since matches say how similar a
// member is to that document.
func (s *snapshot[ID]) groupsOf(ctx context.Context, g *GroupOptions[ID], of []uint32) []neardup.Group[ID] {
	found := s.membersOf(of)
	if len(found.roots) == 0 || !s.ready(ctx) {
		return nil
	}
	k := s.newKeeper(g, of)
	keep := k.chooseAll(ctx, &found)
	groups := make([]neardup.Group[ID], len(found.roots))
	parallel.Chunks(len(groups), func(_, from, to int) {
		k := k.another()
		for n := from; n < to && ctx.Err() == nil; n++ {
			m := found.members[n]
			group := neardup.Group[ID]{Keep: s.name(keep[n]), Members: make([]ID, 0, len(m)), Matches: make([]neardup.Match[ID], 0, len(m))}
			for _, at := range m {
				v, _ := k.verdict(keep[n], at)
				group.Members = append(group.Members, s.name(at))
				group.Matches = append(group.Matches, neardup.Match[ID]{ID: s.name(at), Similarity: v.similarity, Probability: v.probability, Kind: v.kind})
			}
			groups[n] = group
		}
	})
	if ctx.Err() != nil {
		return nil // some are missing
	}
	return groups
}

// chooseAll returns which member each group keeps. A document that one group keeps may forbid a choice of another
// group. So groups that are connected choose one after the other, and the one whose best member is preferred to
// the best members of the others chooses first. Groups that are not connected choose on different goroutines.
func (k *keeper[ID]) chooseAll(ctx context.Context, g *grouped) (keep []uint32) {
	best := make([]uint32, len(g.roots))
	parallel.Chunks(len(best), func(_, from, to int) {
		for n := from; n < to; n++ {
			best[n] = slices.MinFunc(g.members[n], k.compare)
		}
	})
	keep = make([]uint32, len(g.roots))
	choose := func(k *keeper[ID], some []int) {
		slices.SortStableFunc(some, func(i, j int) int { return k.compare(best[i], best[j]) })
		for _, n := range some {
			if ctx.Err() != nil {
				return
			}
			keep[n] = k.choose(g.members[n], g.roots[n])
		}
	}
	some, starts := k.connected(g)
	parallel.Chunks(len(starts)-1, func(_, from, to int) {
		k := k.another()
		for part := from; part < to; part++ {
			choose(k, some[starts[part]:starts[part+1]])
		}
	})
	return keep
}

// connected divides the groups into parts such that no group forbids a choice of one in another part. It
// returns the numbers of the groups, part by part and ascending, and where each part begins, with the end of
// the last one. Unless all edges are known, all groups are one part, and one goroutine chooses for them.
func (k *keeper[ID]) connected(g *grouped) (numbers, starts []int) {
	if k.edges == nil {
		for n := range g.roots {
			numbers = append(numbers, n)
		}
		return numbers, []int{0, len(numbers)}
	}
	k.beside = incidentTo(len(k.order), k.edges.all)
	f := graph.NewForest(len(k.order) + len(g.roots)) // of contents, followed by groups
	for i := range k.edges.all {
		if e := &k.edges.all[i]; k.joins(e) {
			f.Join(int(e.a), int(e.b))
		}
	}
	for n, members := range g.members {
		for _, at := range members {
			f.Join(int(k.contentOf(at)), len(k.order)+n)
		}
	}
	c := graph.ComponentsOf(f)
	return c.Sort(len(g.roots), func(n int) int { return c.Of(len(k.order) + n) })
}
