package graph

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"sync/atomic"

	"github.com/neardup/neardup/internal/parallel"
)

// A Pair is two vertices that are similar.
type Pair struct {
	A, B       int
	Similarity float64
}

// Edge is one side of a pair.
type Edge struct {
	To         int
	Similarity float64
}

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

// CentresOf makes groups around centres. each calls use with some vertices, in order, and with what
// is near them. It may look at several side by side, on other goroutines, before use is called for
// the first; it need not look at a vertex once covered says that it belongs to a centre, and passes
// nil then. So a large group costs a few looks more than its one centre.
func CentresOf(n int, before func(i, j int) bool, each func(is []int, covered func(i int) bool, use func(i int, near []Edge))) []int {
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
	covered := make([]atomic.Bool, n)
	for next := 0; next < n; {
		var some []int // vertices that are near no centre so far
		for ; next < n && len(some) < parallel.Chunk; next++ {
			if of[order[next]] < 0 {
				some = append(some, order[next])
			}
		}
		each(some, func(i int) bool { return covered[i].Load() }, func(i int, near []Edge) {
			if of[i] >= 0 { // near a centre among some
				return
			}
			of[i], similarity[i] = i, math.Inf(1)
			for _, e := range near {
				if of[e.To] < 0 || e.Similarity > similarity[e.To] { // of equal ones the centre that comes first
					of[e.To], similarity[e.To] = i, e.Similarity
					covered[e.To].Store(true)
				}
			}
		})
	}
	return of
}

// ComponentsOf returns for each of n vertices the smallest one of its connected component, without
// the edges being spelled out. It is a breadth-first search: near calls use with some vertices, in
// order, and with the vertices near them that are not dropped. drop takes the vertices that are reached
// away from what near looks at; it is called each time they are a half of what was left. So in one
// large group the first look finds all others, and the rest of the looks cost next to nothing.
func ComponentsOf(n int, near func(is []int, use func(i int, near []Edge)), drop func(reached func(i int) bool)) []int {
	of := make([]int, n)
	for i := range of {
		of[i] = -1
	}
	left, reached := n, 0 // vertices that are not dropped, and how many of those are reached
	var queue []int
	reach := func(i, root int) {
		of[i] = root
		queue = append(queue, i)
		reached++
	}
	for root := range n {
		if of[root] >= 0 {
			continue
		}
		for reach(root, root); len(queue) > 0; {
			if 2*reached >= left {
				drop(func(i int) bool { return of[i] >= 0 })
				left, reached = left-reached, 0
			}
			some := queue[:min(len(queue), parallel.Chunk)]
			queue = queue[len(some):]
			near(some, func(_ int, near []Edge) {
				for _, e := range near {
					if of[e.To] < 0 {
						reach(e.To, root)
					}
				}
			})
		}
	}
	return of
}

// Represent changes the roots of groups, the smallest members, to their best members by before, which
// may be nil.
func Represent(of []int, before func(i, j int) bool) []int {
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

func CompleteLinks(n int, pairs iter.Seq[Pair]) []int {
	var sorted []Pair
	for p := range pairs {
		sorted = append(sorted, Pair{min(p.A, p.B), max(p.A, p.B), p.Similarity})
	}
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
		a, b := groups.Find(p.A), groups.Find(p.B)
		if a == b {
			continue
		}
		if link(a, b, 1); links[a][b] < size[a]*size[b] {
			continue
		}
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
