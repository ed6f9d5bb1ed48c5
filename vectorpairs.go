package neardup

import (
	"cmp"
	"iter"
	"runtime"
	"slices"
	"sync"
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
			joinPostings(v, newPostings(v, least, func(i int) bool { return i < n }), from, least)(yield)
		}
	}
}

// joinPostings yields the pairs of which A is in the lists, and B from from on and behind A.
func joinPostings(v *numbered, p *postings, from int, least float64) iter.Seq[SimilarPair[int]] {
	return func(yield func(SimilarPair[int]) bool) {
		worker := func() *cosineWorker {
			return &cosineWorker{v: v, p: p, least: least, sums: make([]float32, v.n)}
		}
		inOrder((v.n-from+chunk-1)/chunk, worker, func(w *cosineWorker, c int, emit func([]SimilarPair[int]) bool) {
			for i := from + c*chunk; i < min(v.n, from+(c+1)*chunk); i++ {
				if w.query(i); len(w.found) >= 4*chunk {
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

// inOrder calls work for all numbers up to n, by several workers each of which has something of its
// own, and take with what that emits, in the order of the numbers, until it returns false. Who is too far
// ahead waits.
func inOrder[W, R any](n int, worker func() W, work func(w W, i int, emit func(R) bool), take func(R) bool) {
	workers := min(n, runtime.GOMAXPROCS(0))
	if workers <= 1 {
		stop := false
		emit := func(r R) bool {
			stop = stop || !take(r)
			return !stop
		}
		if n > 0 {
			for i, w := 0, worker(); i < n && !stop; i++ {
				work(w, i, emit)
			}
		}
		return
	}
	type job struct {
		i   int
		out chan R
	}
	quit := make(chan struct{})
	jobs, ordered := make(chan job, workers), make(chan job, 2*workers)
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(jobs)
		defer close(ordered)
		for i := range n {
			j := job{i, make(chan R, 4)}
			for _, to := range []chan job{ordered, jobs} {
				select {
				case to <- j:
				case <-quit:
					return
				}
			}
		}
	})
	for range workers {
		wg.Go(func() {
			w := worker()
			for j := range jobs {
				work(w, j.i, func(r R) bool {
					select {
					case j.out <- r:
						return true
					case <-quit:
						return false
					}
				})
				close(j.out)
			}
		})
	}
	defer wg.Wait()
	defer close(quit)
	for j := range ordered {
		for r := range j.out {
			if !take(r) {
				return
			}
		}
	}
}

// A cosineWorker finds the vectors that are similar to one of them.
type cosineWorker struct {
	v       *numbered
	p       *postings
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
		if len(list) > 8 { // else it is as fast to look
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
