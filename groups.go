package neardup

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"sync"
)

// A Linkage says which pairs of near-duplicates make a group.
type Linkage uint8

const (
	// Centres: every member is a near-duplicate of the one that is kept, so no text is dropped
	// without one like it being there. Members of a group may be far from each other.
	Centres Linkage = iota

	// CompleteLinks: all members are near-duplicates of each other.
	CompleteLinks

	// Chains: what is joined by a chain of pairs. A chain of weak links may pull together what
	// has nothing in common.
	Chains
)

// GroupPairs groups the vertices 0 to n−1 of a graph whose edges are pairs, and returns for each
// the one that represents its group. It does not depend on the order of the pairs. Positions
// outside panic.
//
// before says whether one vertex should rather represent a group than another; nil means the
// smaller. By Centres, the vertices are taken in this order: one that is near no centre so far
// becomes one, and then each of the others belongs to the centre it is most similar to. By
// CompleteLinks, groups are merged in the order of the pairs, the most similar first, as soon as
// all members of the one have been paired with all of the other (agglomerative clustering).
// Chains are the [Components].
//
// It takes time and memory for the pairs, sorted.
func GroupPairs(n int, pairs iter.Seq[SimilarPair[int]], by Linkage, before func(i, j int) bool) []int {
	var of []int
	switch by {
	case Centres:
		return centres(n, pairs, before)
	case CompleteLinks:
		of = completeLinks(n, pairs)
	default:
		of = Components(n, func(yield func(Pair) bool) {
			for p := range pairs {
				if !yield(Pair{I: p.A, J: p.B}) {
					return
				}
			}
		})
	}
	if before == nil {
		return of
	}
	best := slices.Clone(of)
	for i, root := range of {
		if best[root] != i && before(i, best[root]) {
			best[root] = i
		}
	}
	for i, root := range of {
		of[i] = best[root]
	}
	return of
}

// edge is one side of a pair.
type edge struct {
	to         int
	similarity float64
}

func centres(n int, pairs iter.Seq[SimilarPair[int]], before func(i, j int) bool) []int {
	near := make([][]edge, n)
	for p := range pairs {
		near[p.A] = append(near[p.A], edge{p.B, p.Similarity})
		near[p.B] = append(near[p.B], edge{p.A, p.Similarity})
	}
	return centresOf(n, before, func(is []int, use func(i int, near []edge)) {
		for _, i := range is {
			use(i, near[i])
		}
	})
}

// centresOf makes groups around centres. each calls use with some vertices and what is near them:
// only of centres that is needed, so a group costs no more than its members.
func centresOf(n int, before func(i, j int) bool, each func(is []int, use func(i int, near []edge))) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	if before != nil {
		slices.SortStableFunc(order, func(i, j int) int {
			switch {
			case before(i, j):
				return -1
			case before(j, i):
				return 1
			}
			return 0
		})
	}
	of := make([]int, n) // the centre, the most similar one so far
	similarity := make([]float64, n)
	for i := range of {
		of[i] = -1
	}
	for next := 0; next < n; {
		var some []int // that are near no centre so far
		for ; next < n && len(some) < chunk; next++ {
			if of[order[next]] < 0 {
				some = append(some, order[next])
			}
		}
		each(some, func(i int, near []edge) {
			if of[i] >= 0 { // of one of them
				return
			}
			of[i], similarity[i] = i, math.Inf(1)
			for _, e := range near {
				if of[e.to] < 0 || e.similarity > similarity[e.to] { // equal ones: the centre that comes first
					of[e.to], similarity[e.to] = i, e.similarity
				}
			}
		})
	}
	return of
}

func completeLinks(n int, pairs iter.Seq[SimilarPair[int]]) []int {
	var sorted []SimilarPair[int]
	for p := range pairs {
		sorted = append(sorted, SimilarPair[int]{min(p.A, p.B), max(p.A, p.B), p.Similarity})
	}
	slices.SortFunc(sorted, func(a, b SimilarPair[int]) int {
		return cmp.Or(a.A-b.A, a.B-b.B, cmp.Compare(b.Similarity, a.Similarity))
	})
	sorted = slices.CompactFunc(sorted, func(a, b SimilarPair[int]) bool { return a.A == b.A && a.B == b.B })
	slices.SortStableFunc(sorted, func(a, b SimilarPair[int]) int { return cmp.Compare(b.Similarity, a.Similarity) })
	groups := newForest(n)
	size := make([]int, n)
	for i := range size {
		size[i] = 1
	}
	links := make([]map[int]int, n) // of a group: how many pairs it has with others so far
	link := func(a, b, pairs int) {
		for range 2 {
			if links[a] == nil {
				links[a] = map[int]int{}
			}
			links[a][b] += pairs
			a, b = b, a
		}
	}
	for _, p := range sorted {
		a, b := groups.find(p.A), groups.find(p.B)
		if a == b {
			continue
		}
		if link(a, b, 1); links[a][b] < size[a]*size[b] {
			continue
		}
		root := min(a, b)
		other := a + b - root
		groups.join(a, b)
		size[root] += size[other]
		delete(links[root], other)
		for c, pairs := range links[other] {
			if delete(links[c], other); c != root {
				link(root, c, pairs)
			}
		}
		links[other] = nil
	}
	return groups.roots()
}

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
			if !(isOld(p.A) && isOld(p.B)) && !yield(p) {
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
	n := len(c.contents)
	j := newCosineJoin(numberTerms(c, 2), least, func(int) bool { return true })
	workers := sync.Pool{New: func() any { return &cosineWorker{cosineJoin: j, sums: make([]float32, n)} }}
	return centresOf(n, before, func(is []int, use func(i int, near []edge)) {
		next := 0
		none := func() struct{} { return struct{}{} } // workers outlive the call
		inOrder(len(is), none, func(_ struct{}, k int, emit func([]edge) bool) {
			w := workers.Get().(*cosineWorker)
			defer workers.Put(w)
			i := is[k]
			w.found = w.found[:0]
			w.query(i, n)
			near := make([]edge, 0, len(w.found))
			for _, f := range w.found {
				if !isOld(i) || !isOld(f.A) {
					near = append(near, edge{f.A, f.Similarity})
				}
			}
			emit(near)
		}, func(near []edge) bool {
			use(is[next], near)
			next++
			return true
		})
	})
}
