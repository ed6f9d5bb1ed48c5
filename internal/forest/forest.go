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
//	keys.go    the keys of all sets, and the buckets that they make
//	forest.go  the buckets of some sets, to look up candidates
package forest

import "slices"

// A Forest has the buckets of some of n sets. It does not change, so it is safe for concurrent use.
type Forest struct {
	trees []tree
	ranks []uint32 // for each set its place among those in the forest and 1, or 0
}

// A tree has the buckets with at least two sets, one after the other.
type tree struct {
	starts []uint32 // where each bucket begins in sets; one more at the end
	sets   []uint32 // ascending in each bucket
	bucket []uint32 // for each set by rank its bucket and 1, or 0
}

// New makes a forest of the sets for which in is true, from the keys of all. It uses all processors.
func New(keys *Keys, in func(set int) bool) *Forest {
	f := &Forest{trees: make([]tree, keys.trees), ranks: make([]uint32, keys.n)}
	count := uint32(0)
	for i := range f.ranks {
		if in(i) {
			count++
			f.ranks[i] = count
		}
	}
	keys.Each(func(i int) bool { return f.ranks[i] > 0 }, func(t int, next func() []uint32) {
		tree := &f.trees[t]
		tree.bucket, tree.starts = make([]uint32, count), []uint32{0}
		for sets := next(); sets != nil; sets = next() {
			for _, x := range sets {
				tree.bucket[f.ranks[x]-1] = uint32(len(tree.starts))
			}
			tree.sets = append(tree.sets, sets...)
			tree.starts = append(tree.starts, uint32(len(tree.sets)))
		}
	})
	return f
}

// Has reports whether a set is in the forest.
func (f *Forest) Has(set int) bool { return f.ranks[set] > 0 }

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
	return &Searcher{forest: f, seen: make([]uint32, len(f.ranks))}
}

// Candidates returns the sets from..to−1, without i, that share a bucket with set i, in no particular
// order. The slice is valid until the next call.
func (s *Searcher) Candidates(i, from, to int) []Candidate {
	f := s.forest
	s.found = s.found[:0]
	rank := f.ranks[i]
	if rank == 0 {
		return s.found
	}
	for t := range f.trees {
		tree := &f.trees[t]
		b := tree.bucket[rank-1]
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
