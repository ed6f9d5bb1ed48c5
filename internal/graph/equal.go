package graph

import (
	"math/bits"

	"github.com/neardup/neardup/internal/parallel"
)

// This file finds equal items, so that a million copies of one are one vertex.

// Equal knows which of some items are equal.
type Equal struct {
	Different []int    // where the first one of each stands
	first     []uint32 // for each item, the first one that is equal
	number    []uint32 // for each first one, which of Different it is
}

// NewEqual finds the equal ones of n items. Equal items have equal hashes, which should be as good as random. hash and same are called by
// several goroutines. It takes linear time.
func NewEqual(n int, hash func(i int) uint64, same func(i, j int) bool) *Equal {
	e := &Equal{first: firstEqual(n, hash, same), number: make([]uint32, n)}
	different := 0
	for i, f := range e.first {
		if int(f) == i {
			different++
		}
	}
	e.Different = make([]int, 0, different)
	for i, f := range e.first {
		if int(f) == i {
			e.number[i] = uint32(len(e.Different))
			e.Different = append(e.Different, i)
		}
	}
	return e
}

// Spread returns the representatives of all items, given those of the different ones, of[i] for Different[i]. Items are numbered by where
// they stand.
func (e *Equal) Spread(of []int) []int {
	all := make([]int, len(e.first))
	parallel.Chunks(len(all), func(_, from, to int) {
		for i := from; i < to; i++ {
			all[i] = e.Different[of[e.number[e.first[i]]]]
		}
	})
	return all
}

// firstEqual returns for each item the first one that is equal to it.
func firstEqual(n int, hash func(i int) uint64, same func(i, j int) bool) (first []uint32) {
	// The items are divided by the highest bits of their hashes, so that the table of each part stays in a cache.
	const partBits, chunk = 8, 1 << 16
	const parts = 1 << partBits
	hashes, order, first := make([]uint32, n), make([]uint32, n), make([]uint32, n)
	starts := make([][parts]int, (n+chunk-1)/chunk) // of each part of each chunk in order
	each := func(do func(c, from, to int)) {
		parallel.Each(len(starts), func(c int) { do(c, c*chunk, min(n, (c+1)*chunk)) })
	}
	each(func(c, from, to int) {
		for i := from; i < to; i++ {
			hashes[i] = uint32(hash(i) >> 32)
			starts[c][hashes[i]>>(32-partBits)]++
		}
	})
	at, ends := 0, [parts]int{}
	for p := range parts {
		for c := range starts {
			at, starts[c][p] = at+starts[c][p], at
		}
		ends[p] = at
	}
	each(func(c, from, to int) {
		for i := from; i < to; i++ {
			place := &starts[c][hashes[i]>>(32-partBits)]
			order[*place] = uint32(i)
			*place++
		}
	})
	parallel.Each(parts, func(p int) {
		from := 0
		if p > 0 {
			from = ends[p-1]
		}
		// A table of the first ones, half full at most: the item, and 1; 0 if free.
		width := bits.Len(uint(ends[p]-from)) + 1
		table, mask := make([]uint32, 1<<width), uint32(1)<<width-1
		for _, i := range order[from:ends[p]] { // ascending
			slot := hashes[i] & mask
			for table[slot] != 0 && (hashes[table[slot]-1] != hashes[i] || !same(int(table[slot]-1), int(i))) {
				slot = (slot + 1) & mask
			}
			if table[slot] == 0 {
				table[slot] = i + 1
			}
			first[i] = table[slot] - 1
		}
	})
	return first
}
