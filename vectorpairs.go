package neardup

import (
	"cmp"
	"iter"
	"runtime"
	"slices"
	"sync/atomic"
)

// VectorPairs yields all pairs of vectors with a cosine of at least least, which must be more than 0:
// each once, A before B, ordered by B and then by A. It is exact: what it yields is
// what comparing all by [Vector.Cosine] would (see inverted.go for how).
//
// It uses all processors, and keeps 8 bytes for each term that another vector has too, and as much
// for those that enter its lists. The vectors must not be changed meanwhile.
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
		if n == 0 {
			return
		}
		v := numberTerms(src, 2)
		p := newPostings(v, n, least)
		inOrder((v.n-from+chunk-1)/chunk, func() *cosineWorker { return &cosineWorker{v: v, p: p, n: n, least: least, sums: make([]float32, n)} },
			func(w *cosineWorker, c int) []SimilarPair[int] {
				w.found = nil
				for i := from + c*chunk; i < min(v.n, from+(c+1)*chunk); i++ {
					w.query(i)
				}
				return w.found
			},
			func(found []SimilarPair[int]) bool {
				for _, f := range found {
					if !yield(f) {
						return false
					}
				}
				return true
			})
	}
}

// inOrder calls work for all numbers up to n, by several workers each of which has something of its own,
// and emit with what it returns, in the order of the numbers, until that returns false.
func inOrder[W, R any](n int, worker func() W, work func(w W, i int) R, emit func(R) bool) {
	workers := min(n, runtime.GOMAXPROCS(0))
	if workers <= 1 {
		if n > 0 {
			for i, w := 0, worker(); i < n && emit(work(w, i)); i++ {
			}
		}
		return
	}
	type result struct {
		of   R
		done chan struct{}
	}
	var stop atomic.Bool
	ahead := 4 * workers
	queue := make(chan *result, ahead)
	jobs := make(chan func(W), ahead)
	go func() {
		defer close(queue)
		defer close(jobs)
		for i := 0; i < n && !stop.Load(); i++ {
			r := &result{done: make(chan struct{})}
			queue <- r
			jobs <- func(w W) {
				defer close(r.done)
				if !stop.Load() {
					r.of = work(w, i)
				}
			}
		}
	}()
	for range workers {
		go func() {
			w := worker()
			for job := range jobs {
				job(w)
			}
		}()
	}
	defer func() {
		stop.Store(true)
		for r := range queue { // nobody works any more when the call returns
			<-r.done
		}
	}()
	for r := range queue {
		if <-r.done; !emit(r.of) {
			return
		}
	}
}

// A cosineWorker finds the vectors that are similar to one of them.
type cosineWorker struct {
	v       *numbered
	p       *postings
	n       int // vectors in the lists
	least   float64
	sums    []float32 // by vector: what was summed up
	touched []uint32
	table   weightTable[uint32]
	found   []SimilarPair[int]
}

// query finds those before vector i.
func (w *cosineWorker) query(i int) {
	ids, weights, square := w.v.vector(i)
	unit, upTo := unitFactor(square), int(w.p.entered[i])
	w.touched = w.touched[:0]
	for k, id := range ids {
		if w.v.level(id) > upTo {
			continue
		}
		x := float32(float64(weights[k]) * unit)
		from, to := w.p.starts[id], w.p.starts[id+1]
		list := w.p.lists[from:to]
		if i < w.n && len(list) > 8 { // else it is as fast to look
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
	room := sumError(len(ids))
	first, compared := len(w.found), false
	for _, y := range w.touched {
		sum := w.sums[y]
		w.sums[y] = 0
		both := min(upTo, int(w.p.entered[y]))
		if float64(sum)+float64(int(w.p.above.at(both)[i])*int(w.p.above.at(both)[y]))/(255*255)+room < w.least {
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
	slices.SortFunc(w.found[first:], func(a, b SimilarPair[int]) int { return a.A - b.A })
}
