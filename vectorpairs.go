package neardup

import (
	"cmp"
	"iter"
	"slices"
)

// VectorPairs yields all pairs of vectors with a cosine of at least least, which must be more than 0:
// each once, A before B, ordered by B and then by A. It is exact: what it yields is
// what comparing all by [Vector.Cosine] would (see inverted.go for how).
//
// It uses all processors, and keeps 8 bytes for each term that another vector has too, and as much
// for those that enter its lists; 24 bytes for each vector, and 4 more for each processor. The vectors
// must not be changed meanwhile.
func VectorPairs(vectors []Vector, least float64) iter.Seq[SimilarPair[int]] {
	for _, v := range vectors {
		v.check()
	}
	return cosinePairs(vectorSlice(vectors), len(vectors), 0, least)
}

// VectorPairsBetween yields the pairs of a vector of old and one of fresh with a cosine of
// at least least: A is the position in old, B that in fresh. Else it is [VectorPairs].
func VectorPairsBetween(old, fresh []Vector, least float64) iter.Seq[SimilarPair[int]] {
	all := slices.Concat(old, fresh)
	for _, v := range all {
		v.check()
	}
	return func(yield func(SimilarPair[int]) bool) {
		for p := range cosinePairs(vectorSlice(all), len(old), len(old), least) {
			if p.B -= len(old); !yield(p) {
				return
			}
		}
	}
}

// cosinePairs yields the pairs of which A is one of the first n vectors and B one from
// from on and behind A.
func cosinePairs(src vectorSource, n, from int, least float64) iter.Seq[SimilarPair[int]] {
	if !(least > 0) {
		panic("neardup: pairs of vectors need a cosine above 0")
	}
	return func(yield func(SimilarPair[int]) bool) {
		if n > 0 {
			v := numberTerms(src, 2)
			newCosineJoin(v, least, func(i int) bool { return i < n }).pairs(from)(yield)
		}
	}
}

// A cosineJoin is the lists of a join, of the vectors that may be the first of a pair.
type cosineJoin struct {
	v       *numbered
	least   float64
	above   above
	entered []uint8 // for each vector the level up to which it is in the lists
	usual   lists   // of vectors that are no longer above any level than nearly all
	others  lists
}

// lists are postings, and how long its vectors are above each level at most, in 1/255.
type lists struct {
	postings
	longest [levels]uint8
}

// share is the one in which vectors are among the others for each level.
const share = 1.0 / 128

func newCosineJoin(v *numbered, least float64, in func(i int) bool) *cosineJoin {
	j := &cosineJoin{v: v, least: least, above: v.measure(), entered: make([]uint8, v.n)}
	for l := range levels {
		counts, left := [256]int{}, int(share*float64(v.n))
		for _, a := range j.above.at(l) {
			counts[a]++
		}
		longest := 255
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
	j.usual.postings = newPostings(v, func(i int) bool { return in(i) && isUsual[i] }, upTo)
	j.others.postings = newPostings(v, func(i int) bool { return in(i) && !isUsual[i] }, upTo)
	return j
}

// upTo returns the level up to which vector i must be read in lists, so that what it has above
// it does not suffice.
func (j *cosineJoin) upTo(i int, of *lists) (l int) {
	ids, _, _ := j.v.vector(i)
	least := j.least - sumError(len(ids))
	for l < levels-1 && float64(int(j.above.at(l)[i])*int(of.longest[l]))/(255*255) >= least {
		l++
	}
	return l
}

// pairs yields the pairs of which A is in the lists, and B from from on and behind A.
func (j *cosineJoin) pairs(from int) iter.Seq[SimilarPair[int]] {
	return func(yield func(SimilarPair[int]) bool) {
		v := j.v
		worker := func() *cosineWorker { return &cosineWorker{cosineJoin: j, sums: make([]float32, v.n)} }
		inOrder((v.n-from+chunk-1)/chunk, worker, func(w *cosineWorker, c int, emit func([]SimilarPair[int]) bool) {
			for i := from + c*chunk; i < min(v.n, from+(c+1)*chunk); i++ {
				if w.query(i, i); len(w.found) >= 4*chunk {
					if !emit(w.found) {
						return
					}
					w.found = nil
				}
			}
			emit(w.found)
			w.found = nil
		}, func(found []SimilarPair[int]) bool {
			for _, f := range found {
				if !yield(f) {
					return false
				}
			}
			return true
		})
	}
}

// A cosineWorker finds the vectors that are similar to one of them.
type cosineWorker struct {
	*cosineJoin
	sums    []float32 // by vector: what was summed up
	touched []uint32
	table   weightTable[uint32]
	found   []SimilarPair[int]
}

// query finds those that are similar to vector i, of the vectors before end.
func (w *cosineWorker) query(i, end int) {
	first := len(w.found)
	compared := false // the table is of vector i
	for _, in := range []*lists{&w.usual, &w.others} {
		upTo := w.upTo(i, in)
		w.sum(i, end, upTo, in)
		compared = w.compare(i, upTo, compared)
	}
	slices.SortFunc(w.found[first:], func(a, b SimilarPair[int]) int { return a.A - b.A })
}

// sum reads the lists of vector i up to a level, and of the vectors before end.
func (w *cosineWorker) sum(i, end, upTo int, in *lists) {
	ids, weights, square := w.v.vector(i)
	unit := unitFactor(square)
	w.touched = w.touched[:0]
	for k, id := range ids {
		if w.v.level(id) > upTo {
			continue
		}
		x := float32(float64(weights[k]) * unit)
		list := in.lists[in.starts[id]:in.starts[id+1]]
		if len(list) > 8 && end < w.v.n { // else it is as fast to look
			n, _ := slices.BinarySearchFunc(list, uint32(end), func(p posting, end uint32) int { return cmp.Compare(p.vector(), end) })
			list = list[:n]
		}
		for _, p := range list {
			y := p.vector()
			if int(y) >= end {
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

// compare compares vector i with those that were touched and may be similar enough. compared says
// whether the table is of vector i, and so does what it returns.
func (w *cosineWorker) compare(i, upTo int, compared bool) bool {
	ids, weights, square := w.v.vector(i)
	room := sumError(len(ids))
	for _, y := range w.touched {
		sum := w.sums[y]
		w.sums[y] = 0
		above := w.above.at(min(upTo, int(w.entered[y])))
		if float64(sum)+float64(int(above[i])*int(above[y]))/(255*255)+room < w.least || int(y) == i {
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
		if c := cosine(dot, otherSquare, square); c >= w.least {
			w.found = append(w.found, SimilarPair[int]{int(y), i, c})
		}
	}
	return compared
}
