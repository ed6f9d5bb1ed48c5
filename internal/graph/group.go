package graph

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"sync/atomic"
)

// A Pair is an edge: two vertices and how similar they are. Only the order of similarities matters,
// so they may be negative, such as negated distances.
type Pair struct {
	A, B       int
	Similarity float64
}

// An Edge is a Pair as seen from one of its vertices.
type Edge struct {
	To         int
	Similarity float64
}

// Centres makes groups around centres. Vertices are taken in the order of before, or ascending if
// before is nil. A vertex that is near no centre so far becomes a centre. Each other vertex then
// belongs to the most similar centre; of equally similar ones, to the one that was taken first.
// Members of a group may be far from each other. The order of the pairs does not matter. All pairs
// are kept in memory.
func Centres(n int, pairs iter.Seq[Pair], before func(i, j int) bool) []int {
	near := make([][]Edge, n)
	for p := range pairs {
		near[p.A] = append(near[p.A], Edge{p.B, p.Similarity})
		near[p.B] = append(near[p.B], Edge{p.A, p.Similarity})
	}
	return CentresOf(n, before, func(is []int, _ func(i int) bool, use func(i int, near []Edge)) {
		for _, i := range is {
			use(i, near[i])
		}
	})
}

// CentresOf is Centres for a graph whose edges are looked up when they are needed, since a large
// group needs only those of its centre.
//
// It calls each with a chunk of vertices in order. For each of them, in the same order, each must
// call use with the vertex and its edges. It may look the edges of several vertices up at the same
// time on other goroutines, as long as the calls of use do not overlap. If covered says that a
// vertex already belongs to a centre, its edges are not needed, and each may pass nil. So a group
// costs a few look-ups more than its one centre: those of members that were looked up before the
// centre was known.
func CentresOf(n int, before func(i, j int) bool, each func(is []int, covered func(i int) bool, use func(i int, near []Edge))) []int {
	order := inOrder(n, before)
	of := make([]int, n)             // the most similar centre so far, or −1
	similarity := make([]float64, n) // to this centre
	for i := range of {
		of[i] = -1
	}
	covered := make([]atomic.Bool, n) // of[i] ≥ 0, for other goroutines
	for next := 0; next < n; {
		var some []int // vertices that are near no centre so far
		for ; next < n && len(some) < atOnce; next++ {
			if of[order[next]] < 0 {
				some = append(some, order[next])
			}
		}
		each(some, func(i int) bool { return covered[i].Load() }, func(i int, near []Edge) {
			if of[i] >= 0 { // near a centre that came earlier in some
				return
			}
			of[i], similarity[i] = i, math.Inf(1) // a centre stays its own
			for _, e := range near {
				// > keeps the centre that was taken first, if two are equally similar.
				if of[e.To] < 0 || e.Similarity > similarity[e.To] {
					of[e.To], similarity[e.To] = i, e.Similarity
					covered[e.To].Store(true)
				}
			}
		})
	}
	return of
}

// atOnce is how many vertices are looked up at a time: so many that several processors have something to do, and so few that a large
// group costs few look-ups more than that of its centre.
const atOnce = 256

// Represent changes the representatives of groups. of has the smallest member of each vertex's
// group; the result, in the same slice, has the member that is first by before. A nil before
// changes nothing.
func Represent(of []int, before func(i, j int) bool) []int {
	if before == nil {
		return of
	}
	// best is right for the smallest members only; the others are set from it.
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

// Complete makes groups in which every two members are a pair, as far as no two representatives are one. It makes the groups of
// CompleteLinks. Then it takes the vertices in the order of before, or ascending if before is nil: one that is paired with no representative
// so far becomes one. A group has one at most. A group without one has only members that are paired with representatives of others: each
// of them goes to the most similar one, or of equally similar ones, to the first.
//
// Groups in which every two are a pair, and representatives of which no two are, cannot both be had in every graph: a ring of five vertices
// has at most two of the latter, and takes three of the former.
func Complete(n int, pairs iter.Seq[Pair], before func(i, j int) bool) []int {
	near := make([][]Edge, n)
	of := CompleteLinks(n, func(yield func(Pair) bool) {
		for p := range pairs {
			near[p.A] = append(near[p.A], Edge{p.B, p.Similarity})
			near[p.B] = append(near[p.B], Edge{p.A, p.Similarity})
			if !yield(p) {
				return
			}
		}
	})
	order := inOrder(n, before)
	rank := make([]int, n)
	kept := make([]int, n) // the representative of each group, by its smallest member, or −1
	for k, i := range order {
		rank[i], kept[i] = k, -1
	}
	isKept := make([]bool, n)
	for _, i := range order {
		if !slices.ContainsFunc(near[i], func(e Edge) bool { return e.To != i && isKept[e.To] }) {
			isKept[i], kept[of[i]] = true, i
		}
	}
	all := make([]int, n)
	for i := range all {
		if all[i] = kept[of[i]]; all[i] >= 0 {
			continue
		}
		best := Edge{-1, 0}
		for _, e := range near[i] {
			if isKept[e.To] && (best.To < 0 || e.Similarity > best.Similarity || e.Similarity == best.Similarity && rank[e.To] < rank[best.To]) {
				best = e
			}
		}
		all[i] = best.To
	}
	return all
}

// inOrder returns the vertices in the order of before, and those that it does not distinguish ascending.
func inOrder(n int, before func(i, j int) bool) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	if before != nil {
		slices.SortFunc(order, func(i, j int) int {
			switch {
			case before(i, j):
				return -1
			case before(j, i):
				return 1
			}
			return i - j
		})
	}
	return order
}

// CompleteLinks makes groups in which every two members are a pair (agglomerative clustering with
// complete linkage). It takes the pairs in the order of similarity, and equally similar ones in the
// order of their vertices, so the order in which they come does not matter. Two groups are merged
// as soon as every member of one has been paired with every member of the other. The result has the
// smallest member of each group.
//
// All pairs are kept in memory and sorted. A merge takes time for the groups that are linked to the
// one that disappears.
func CompleteLinks(n int, pairs iter.Seq[Pair]) []int {
	var sorted []Pair
	for p := range pairs {
		sorted = append(sorted, Pair{min(p.A, p.B), max(p.A, p.B), p.Similarity})
	}
	// Keep each pair once, with its largest similarity.
	slices.SortFunc(sorted, func(a, b Pair) int {
		return cmp.Or(a.A-b.A, a.B-b.B, cmp.Compare(b.Similarity, a.Similarity))
	})
	sorted = slices.CompactFunc(sorted, func(a, b Pair) bool { return a.A == b.A && a.B == b.B })
	slices.SortStableFunc(sorted, func(a, b Pair) int { return cmp.Compare(b.Similarity, a.Similarity) })
	groups := NewForest(n)
	size := make([]int, n)
	for i := range size {
		size[i] = 1
	}
	// A group is known by its root, the smallest member. links[a][b] is the number of pairs taken
	// so far between the groups a and b. They can be merged when it is the product of their sizes.
	links := make([]map[int]int, n)
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
		a, b := groups.Find(p.A), groups.Find(p.B)
		if a == b {
			continue
		}
		if link(a, b, 1); links[a][b] < size[a]*size[b] {
			continue
		}
		// Every member of a has been paired with every member of b. Merge them, and their links to
		// others.
		root := min(a, b)
		other := a + b - root
		groups.Join(a, b)
		size[root] += size[other]
		delete(links[root], other)
		for c, pairs := range links[other] {
			if delete(links[c], other); c != root {
				link(root, c, pairs)
			}
		}
		links[other] = nil
	}
	return groups.Roots()
}
