// Package forest finds candidates for similar sets: it is an LSH forest (Bawa, Condie and Ganesan,
// "LSH Forest: self-tuning indexes for similarity search", 2005) over samples of weighted features.
//
// A set has a key of 64 bits in each tree. A key has three values of a consistent sample: two sets have
// the same value with about the probability of their weighted Jaccard similarity. In a tree, sets with
// the same first value are in one bucket. A bucket with more than a few sets is split by the second
// value, and by the third. So rare features make candidates by themselves, and frequent ones only
// together, and the number of candidates of a set does not grow with the collection.
//
//	sample.go  the keys of a set
//	forest.go  the buckets
package forest

import (
	"cmp"
	"slices"

	"github.com/neardup/neardup/internal/parallel"
)

// A Key has the values of a set in one tree, the first one in the highest bits.
type Key uint64

// The bits of the three values of a key.
const (
	first, second, third = 28, 18, 18

	behindFirst  = second + third
	behindSecond = third
)

// small is the number of sets up to which a bucket is not split.
const small = 16

// A Forest has the buckets of n sets. It does not change, so it is safe for concurrent use.
type Forest struct {
	trees []tree
	n     int
}

// A tree has the buckets with at least two sets, one after the other.
type tree struct {
	starts []uint32 // where each bucket begins in sets; one more at the end
	sets   []uint32 // ascending in each bucket
	bucket []uint32 // for each set its bucket and 1, or 0
}

// New makes a forest of so many trees, from the keys of all sets: set by set, one for each tree. It uses
// all processors.
func New(trees int, keys []Key) *Forest {
	f := &Forest{trees: make([]tree, trees), n: len(keys) / trees}
	parallel.Each(trees, func(t int) {
		all := make([]entry, f.n)
		for i := range all {
			all[i] = entry{keys[i*trees+t], uint32(i)}
		}
		f.trees[t].build(all)
	})
	return f
}

// Trees returns the number of trees.
func (f *Forest) Trees() int { return len(f.trees) }

// An entry is a set in a tree.
type entry struct {
	key Key
	set uint32
}

// build makes the buckets of a tree. all is in the order of the sets; its order is lost.
func (t *tree) build(all []entry) {
	t.bucket, t.starts = make([]uint32, len(all)), []uint32{0}
	all = byFirst(all)
	for len(all) > 0 {
		n := same(all, behindFirst)
		t.enter(all[:n], behindFirst)
		all = all[n:]
	}
}

// byFirst sorts entries by the first values of their keys, and keeps the order of those with equal ones. It
// is a radix sort by 14 bits at a time.
func byFirst(all []entry) []entry {
	const digit = first / 2
	to := make([]entry, len(all))
	starts := make([]uint32, 1<<digit+1)
	for _, shift := range [2]int{behindFirst, behindFirst + digit} {
		clear(starts)
		for _, e := range all {
			starts[e.key>>shift&(1<<digit-1)+1]++
		}
		for i := 1; i < len(starts); i++ {
			starts[i] += starts[i-1]
		}
		for _, e := range all {
			at := &starts[e.key>>shift&(1<<digit-1)]
			to[*at] = e
			*at++
		}
		all, to = to, all
	}
	return all
}

// same returns how many of the first entries have equal values before the lowest bits behind.
func same(all []entry, behind int) int {
	n := 1
	for n < len(all) && all[n].key>>behind == all[0].key>>behind {
		n++
	}
	return n
}

// enter makes a bucket of sets with equal values before the lowest bits behind, or several if they are many.
func (t *tree) enter(sets []entry, behind int) {
	switch {
	case len(sets) == 1:
		return
	case len(sets) > small && behind > 0:
		if behind == behindFirst {
			behind = behindSecond
			slices.SortFunc(sets, func(a, b entry) int { return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.set, b.set)) })
		} else {
			behind = 0
		}
		for len(sets) > 0 {
			n := same(sets, behind)
			t.enter(sets[:n], behind)
			sets = sets[n:]
		}
		return
	}
	from := len(t.sets)
	for _, e := range sets {
		t.sets = append(t.sets, e.set)
		t.bucket[e.set] = uint32(len(t.starts))
	}
	slices.Sort(t.sets[from:])
	t.starts = append(t.starts, uint32(len(t.sets)))
}

// A Searcher looks up candidates. It is for one goroutine.
type Searcher struct {
	forest *Forest
	seen   []uint32 // where a set may be in found
	found  []Candidate
}

// A Candidate is a set that shares a bucket with another one.
type Candidate struct {
	Set   uint32
	Trees uint16 // in how many trees they share one
}

// NewSearcher returns a searcher.
func (f *Forest) NewSearcher() *Searcher {
	return &Searcher{forest: f, seen: make([]uint32, f.n)}
}

// Any reports whether take is true for any set but i that shares a bucket with set i. It stops at the first
// one, so it takes little time in a large bucket of similar sets.
func (f *Forest) Any(i int, take func(set int) bool) bool {
	for t := range f.trees {
		tree := &f.trees[t]
		if b := tree.bucket[i]; b > 0 {
			for _, x := range tree.sets[tree.starts[b-1]:tree.starts[b]] {
				if int(x) != i && take(int(x)) {
					return true
				}
			}
		}
	}
	return false
}

// Candidates returns the sets from..to−1, without i, that share a bucket with set i, in no particular
// order. The slice is valid until the next call.
func (s *Searcher) Candidates(i, from, to int) []Candidate {
	f := s.forest
	s.found = s.found[:0]
	for t := range f.trees {
		tree := &f.trees[t]
		b := tree.bucket[i]
		if b == 0 {
			continue
		}
		sets := tree.sets[tree.starts[b-1]:tree.starts[b]]
		if len(sets) > small {
			at, _ := slices.BinarySearch(sets, uint32(from))
			sets = sets[at:]
		}
		for _, x := range sets {
			if int(x) >= to {
				break
			}
			if int(x) < from || int(x) == i {
				continue
			}
			if at := s.seen[x]; int(at) < len(s.found) && s.found[at].Set == x {
				s.found[at].Trees++
			} else {
				s.seen[x] = uint32(len(s.found))
				s.found = append(s.found, Candidate{x, 1})
			}
		}
	}
	return s.found
}
