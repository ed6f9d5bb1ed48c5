package cosine

import (
	"cmp"
	"iter"
	"slices"
	"sync"

	"github.com/neardup/neardup/internal/parallel"
)

// A Pair is two vectors by position, and their cosine.
type Pair struct {
	A, B       int
	Similarity float64
}

// Pairs yields the pairs of which A is one of the first n vectors and B one from
// from on and behind A.
func Pairs(src Source, n, from int, least float64) iter.Seq[Pair] {
	if !(least > 0) {
		panic("neardup: pairs of vectors need a cosine above 0")
	}
	return func(yield func(Pair) bool) {
		if n > 0 {
			v := Number(src, 2)
			NewJoin(v, least, func(i int) bool { return i < n }).Pairs(from)(yield)
		}
	}
}

// A Join is the lists of a join, of the vectors that may be the first of a pair.
type Join struct {
	v       *Numbered
	least   float64
	above   above
	entered []uint8 // for each vector the level up to which it is in the lists
	usual   lists   // of vectors that are no longer above any level than nearly all
	others  lists
	workers sync.Pool // *searcher

	// Skip, if it is not nil, says of two vectors that it need not be known whether they are similar.
	// Several goroutines ask it.
	Skip func(i, y int) bool
}

// lists are postings, and how long its vectors are above each level at most, in 1/255.
type lists struct {
	postings
	longest [levels]uint8
}

// share is the one in which vectors are among the others for each level.
const share = 1.0 / 128

func NewJoin(v *Numbered, least float64, in func(i int) bool) *Join {
	j := &Join{v: v, least: least, above: v.measure(), entered: make([]uint8, v.N)}
	for l := range levels {
		counts, left := [256]int{}, int(share*float64(v.N))
		for _, a := range j.above.at(l) {
			counts[a]++
		}
		longest := 255
		for ; longest > 0 && counts[longest] <= left; longest-- {
			left -= counts[longest]
		}
		j.usual.longest[l], j.others.longest[l] = uint8(longest), 255
	}
	isUsual := make([]bool, v.N)
	for i := range v.N {
		j.entered[i] = uint8(j.upTo(i, &j.others))
		isUsual[i] = true
		for l, longest := range j.usual.longest {
			isUsual[i] = isUsual[i] && j.above.at(l)[i] <= longest
		}
	}
	j.workers.New = func() any { return &searcher{Join: j, sums: make([]float32, v.N)} }
	upTo := func(i int) int { return int(j.entered[i]) }
	j.usual.postings = newPostings(v, func(i int) bool { return in(i) && isUsual[i] }, upTo)
	j.others.postings = newPostings(v, func(i int) bool { return in(i) && !isUsual[i] }, upTo)
	return j
}

// upTo returns the level up to which vector i must be read in lists, so that what it has above
// it does not suffice.
func (j *Join) upTo(i int, of *lists) (l int) {
	ids, _, _ := j.v.vector(i)
	least := j.least - sumError(len(ids))
	for l < levels-1 && float64(int(j.above.at(l)[i])*int(of.longest[l]))/(255*255) >= least {
		l++
	}
	return l
}

// Pairs yields the pairs of which A is in the lists, and B from from on and behind A.
func (j *Join) Pairs(from int) iter.Seq[Pair] {
	return func(yield func(Pair) bool) {
		v := j.v
		worker := func() *searcher { return &searcher{Join: j, sums: make([]float32, v.N)} }
		parallel.InOrder((v.N-from+parallel.Chunk-1)/parallel.Chunk, worker, func(w *searcher, c int, emit func([]Pair) bool) {
			for i := from + c*parallel.Chunk; i < min(v.N, from+(c+1)*parallel.Chunk); i++ {
				if w.query(i, i); len(w.found) >= 4*parallel.Chunk {
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
}

// Each finds, for some vectors, the pairs (y, i) with all vectors y of the lists, i itself excepted,
// and calls take with those of one vector after the other. It looks at no vector of which covered
// says that it is not needed any more, and calls take with nothing for it.
func (j *Join) Each(vectors []int, covered func(i int) bool, take func(found []Pair)) {
	none := func() struct{} { return struct{}{} } // workers outlive the call
	parallel.InOrder(len(vectors), none, func(_ struct{}, k int, emit func([]Pair) bool) {
		if covered(vectors[k]) {
			emit(nil)
			return
		}
		w := j.workers.Get().(*searcher)
		defer j.workers.Put(w)
		w.found = w.found[:0]
		w.query(vectors[k], j.v.N)
		emit(slices.Clone(w.found))
	}, func(found []Pair) bool {
		take(found)
		return true
	})
}

// A searcher finds the vectors that are similar to one of them.
type searcher struct {
	*Join
	sums    []float32 // by vector: what was summed up
	touched []uint32
	table   weightTable[uint32]
	found   []Pair
}

// query finds those that are similar to vector i, of the vectors before end.
func (w *searcher) query(i, end int) {
	first := len(w.found)
	compared := false // the table is of vector i
	for _, in := range []*lists{&w.usual, &w.others} {
		upTo := w.upTo(i, in)
		w.sum(i, end, upTo, in)
		compared = w.compare(i, upTo, compared)
	}
	slices.SortFunc(w.found[first:], func(a, b Pair) int { return a.A - b.A })
}

// sum reads the lists of vector i up to a level, and of the vectors before end.
func (w *searcher) sum(i, end, upTo int, in *lists) {
	ids, weights, square := w.v.vector(i)
	unit := UnitFactor(square)
	w.touched = w.touched[:0]
	for k, id := range ids {
		if w.v.level(id) > upTo {
			continue
		}
		x := float32(float64(weights[k]) * unit)
		list := in.lists[in.starts[id]:in.starts[id+1]]
		if len(list) > 8 && end < w.v.N { // else it is as fast to look
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
func (w *searcher) compare(i, upTo int, compared bool) bool {
	ids, weights, square := w.v.vector(i)
	room := sumError(len(ids))
	for _, y := range w.touched {
		sum := w.sums[y]
		w.sums[y] = 0
		above := w.above.at(min(upTo, int(w.entered[y])))
		if float64(sum)+float64(int(above[i])*int(above[y]))/(255*255)+room < w.least || int(y) == i {
			continue
		}
		if w.Skip != nil && w.Skip(i, int(y)) {
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

// Cosine returns that of two vectors.
func (v *Numbered) Cosine(i, j int) float64 {
	a, aw, aa := v.vector(i)
	b, bw, bb := v.vector(j)
	dot := 0.0
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch x, y := a[i], b[j]; {
		case x < y:
			i++
		case x > y:
			j++
		default:
			dot += float64(aw[i]) * float64(bw[j])
			i++
			j++
		}
	}
	return Of(dot, aa, bb)
}
