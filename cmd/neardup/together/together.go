// Package together runs independent work on several goroutines. What comes out does not depend on how many there are.
package together

import (
	"math/bits"
	"slices"
	"sort"
	"sync"
	"sync/atomic"
)

// Each calls do(0) to do(n-1) on some goroutines, and returns when all calls have.
func Each(workers, n int, do func(i int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(workers, n) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	wg.Wait()
}

// leastSorted is how many elements are worth a goroutine.
const leastSorted = 1 << 13

// Sort sorts s by an order in which only equal elements are alike. Parts are sorted by one goroutine each, and merged two by two; a merge is cut into
// pieces that end at the same element in both parts. It takes a copy of s.
func Sort[E any](workers int, s []E, compare func(a, b E) int) {
	most := min(workers, len(s)/leastSorted)
	if most < 2 {
		slices.SortFunc(s, compare)
		return
	}
	parts := 1 << bits.Len(uint(most-1)) // a power of two
	end := func(i int) int { return i * len(s) / parts }
	Each(workers, parts, func(i int) { slices.SortFunc(s[end(i):end(i+1)], compare) })
	from, to := s, make([]E, len(s))
	for width := 1; width < parts; width *= 2 { // parts that are in order already
		pieces := 2 * width // of each merge, so that there are as many as parts
		Each(workers, parts, func(i int) {
			first := i / pieces * pieces
			a, b := from[end(first):end(first+width)], from[end(first+width):end(first+pieces)]
			merge(to[end(first):end(first+pieces)], a, b, i%pieces, pieces, compare)
		})
		from, to = to, from
	}
	if &from[0] != &s[0] {
		Each(workers, parts, func(i int) { copy(s[end(i):end(i+1)], from[end(i):end(i+1)]) })
	}
}

// merge does one of some pieces of merging a and b: it puts into to what is behind the first elements of a that the pieces before take.
func merge[E any](to, a, b []E, piece, pieces int, compare func(a, b E) int) {
	cut := func(piece int) (i, j int) { // how much of a and of b the pieces before take
		if piece == pieces {
			return len(a), len(b)
		}
		i = piece * len(a) / pieces
		if i == 0 {
			return 0, 0
		}
		return i, sort.Search(len(b), func(j int) bool { return compare(b[j], a[i]) >= 0 })
	}
	i, j := cut(piece)
	mostA, mostB := cut(piece + 1)
	at := i + j
	for ; i < mostA && j < mostB; at++ {
		if compare(b[j], a[i]) < 0 {
			to[at], j = b[j], j+1
		} else {
			to[at], i = a[i], i+1
		}
	}
	at += copy(to[at:], a[i:mostA])
	copy(to[at:], b[j:mostB])
}
