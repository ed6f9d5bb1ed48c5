package cosine

import (
	"cmp"
	"iter"
	"slices"

	"github.com/neardup/neardup/internal/parallel"
)

// This file finds all pairs of vectors above a threshold; inverted.go explains the bounds.
//
// A vector queries the lists with its own terms, up to the level at which the bound says that no
// vector it has not met can reach the threshold. Each vector it met has a sum, and an upper bound
// from that. What passes the bound is compared exactly. There are two sets of lists, which are
// queried one after the other:
//
//	usual   the vectors that are not among the longest 1/128 of all vectors above any level
//	others  the rest; they may have any length, so queries read farther here
//
// Each vector queries for vectors before it, so that each pair is found once.

// A Pair is two vectors by position, A < B, and their cosine.
type Pair struct {
	A, B       int
	Similarity float64
}

// Pairs yields the pairs (A, B) with a cosine of at least least and A < B, sorted by B and then by A. It panics unless least is above 0: vectors without a common term are never
// met.
func Pairs(src Source, least float64) iter.Seq[Pair] {
	if !(least > 0) {
		panic("neardup: pairs of vectors need a cosine above 0")
	}
	return func(yield func(Pair) bool) {
		if src.Len() > 0 {
			newJoin(number(src, 2), least).pairs(yield)
		}
	}
}

// A join is an inverted index of the vectors that may be A of a pair, for one threshold. Searches
// do not change it, so it is safe for concurrent use.
type join struct {
	v       *numbered
	least   float64 // the threshold
	above   above
	entered []uint8 // for each vector the level up to which its terms are in the lists
	usual   lists   // of the vectors that are no longer above any level than nearly all vectors
	others  lists   // of the other vectors
}

// lists is an inverted index of some vectors, with the greatest length that they have above each
// level, in 1/255.
type lists struct {
	postings
	longest [levels]uint8
}

// share is the fraction of all vectors that may be longer than usual.longest above a level. A
// smaller one makes others smaller, but lets queries read more of usual.
const share = 1.0 / 128

// newJoin indexes the vectors of v, for pairs with a cosine of at least least, which must be above 0.
func newJoin(v *numbered, least float64) *join {
	j := &join{v: v, least: least, above: v.measure(), entered: make([]uint8, v.n)}
	for l := range levels {
		counts, left := [256]int{}, int(share*float64(v.n))
		for _, a := range j.above.at(l) {
			counts[a]++
		}
		longest := 255 // the smallest length that at most left vectors exceed
		for ; longest > 0 && counts[longest] <= left; longest-- {
			left -= counts[longest]
		}
		j.usual.longest[l], j.others.longest[l] = uint8(longest), 255
	}
	isUsual := make([]bool, v.n)
	for i := range v.n {
		j.entered[i] = uint8(j.upTo(i, &j.others))
		isUsual[i] = true
		for l, longest := range j.usual.longest {
			isUsual[i] = isUsual[i] && j.above.at(l)[i] <= longest
		}
	}
	upTo := func(i int) int { return int(j.entered[i]) }
	j.usual.postings = newPostings(v, func(i int) bool { return isUsual[i] }, upTo)
	j.others.postings = newPostings(v, func(i int) bool { return !isUsual[i] }, upTo)
	return j
}

// upTo returns the lowest level with this property: what vector i has above the level, times what
// any vector of the lists has there at most, is below the threshold. So a vector of the lists that
// reaches the threshold shares a term with vector i up to this level.
func (j *join) upTo(i int, of *lists) (l int) {
	ids, _, _ := j.v.vector(i)
	least := j.least - sumError(len(ids))
	for l < levels-1 && float64(int(j.above.at(l)[i])*int(of.longest[l]))/(255*255) >= least {
		l++
	}
	return l
}

// pairs yields the pairs (A, B) with A < B, sorted by B and then by A, until yield returns false.
func (j *join) pairs(yield func(Pair) bool) {
	v := j.v
	worker := func() *searcher { return &searcher{join: j, sums: make([]float32, v.n)} }
	parallel.InOrder((v.n+parallel.Chunk-1)/parallel.Chunk, worker, func(w *searcher, c int, emit func([]Pair) bool) {
		for i := c * parallel.Chunk; i < min(v.n, (c+1)*parallel.Chunk); i++ {
			if w.query(i); len(w.found) >= 4*parallel.Chunk {
				if !emit(w.found) {
					return
				}
				w.found = nil
			}
		}
		emit(w.found)
		w.found = nil
	}, func(found []Pair) bool {
		for _, f := range found {
			if !yield(f) {
				return false
			}
		}
		return true
	})
}

// A searcher is the state of one worker. Between queries all sums are 0.
type searcher struct {
	*join
	sums    []float32 // for each vector the sum so far; 0 if it was not met
	touched []uint32  // the vectors that were met
	table   weightTable[uint32]
	found   []Pair
}

// query appends to found the pairs (y, i) for the vectors y < i of the lists, sorted by y.
func (w *searcher) query(i int) {
	first := len(w.found)
	compared := false // the table has the terms of vector i
	for _, in := range []*lists{&w.usual, &w.others} {
		upTo := w.upTo(i, in)
		w.sum(i, upTo, in)
		compared = w.compare(i, upTo, compared)
	}
	slices.SortFunc(w.found[first:], func(a, b Pair) int { return a.A - b.A })
}

// sum reads the posting lists of the terms that vector i has up to a level, as far as they are of
// vectors before i, and adds the products up.
func (w *searcher) sum(i, upTo int, in *lists) {
	ids, weights, square := w.v.vector(i)
	unit := UnitFactor(square)
	w.touched = w.touched[:0]
	for k, id := range ids {
		if w.v.level(id) > upTo {
			continue
		}
		x := float32(float64(weights[k]) * unit)
		list := in.lists[in.starts[id]:in.starts[id+1]]
		if len(list) > 8 { // in a shorter list the loop finds the end as fast
			n, _ := slices.BinarySearchFunc(list, uint32(i), func(p posting, i uint32) int { return cmp.Compare(p.vector(), i) })
			list = list[:n]
		}
		for _, p := range list {
			y := p.vector()
			if int(y) >= i {
				break
			}
			s := w.sums[y]
			if s == 0 {
				w.touched = append(w.touched, y)
			}
			w.sums[y] = touchedSum(s + float32(x*p.weight()))
		}
	}
}

// compare compares vector i with the vectors that were met and whose bound reaches the threshold,
// and clears the sums. It enters vector i into the table before the first comparison; compared says
// that this was done before, and so does the result.
//
// The sum has the products of all common terms up to the lower of two levels: the one up to which i
// was read, and the one up to which y was entered. So the bound is for the parts above that level.
func (w *searcher) compare(i, upTo int, compared bool) bool {
	ids, weights, square := w.v.vector(i)
	room := sumError(len(ids))
	for _, y := range w.touched {
		sum := w.sums[y]
		w.sums[y] = 0
		above := w.above.at(min(upTo, int(w.entered[y])))
		if float64(sum)+float64(int(above[i])*int(above[y]))/(255*255)+room < w.least {
			continue
		}
		if !compared {
			compared = true
			w.table.set(len(ids), func(k int) (uint32, float32) { return ids[k] + 1, weights[k] })
		}
		others, otherWeights, otherSquare := w.v.vector(int(y))
		dot := 0.0
		for k, id := range others {
			dot += float64(w.table.find(id+1)) * float64(otherWeights[k])
		}
		if c := Of(dot, otherSquare, square); c >= w.least {
			w.found = append(w.found, Pair{int(y), i, c})
		}
	}
	return compared
}
