package cosine

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"unsafe"

	"github.com/neardup/neardup/internal/kernel"
)

// This file searches the [Tables] of a run for the vectors most similar to a query: all that reach
// a cosine, or the best few of them. inverted.go explains the levels and their bound.
//
// A search reads the posting lists of the query's terms level by level, from the rarest terms on.
// For each vector it keeps the sum of products so far. After a level l it knows about a vector y
//
//	sum[y] − rest  ≤  cosine  ≤  sum[y] + rest      where rest = |query above l| · |y above l|
//
// and without negative weights even sum[y] ≤ cosine. It uses both sides:
//
//   - raise: if ten vectors are asked for and ten have a lower bound of b or more, no vector below
//     b is a result. So b is the new cosine to reach. This is how a search finds a threshold by
//     itself if only the number of results is given.
//   - pick: the vectors whose upper bound reaches that cosine are the candidates. If it takes much
//     less time to compare these exactly than to read the lists that are left, reading ends.
//
// Both cost time for every vector that was met, so they wait until enough has been read since.
//
// While few vectors have been met, the search keeps a list of them (touched). Once the postings
// read are more than a quarter of the vectors, it looks at the sums of all vectors instead (dense),
// which needs no branch to tell whether a vector is new.

// A Query is a vector to search for, with the buffers of a search and its results. One Query
// searches any number of [Tables], one after the other. Each raises the bound for the next.
type Query struct {
	v      []Term
	square float64             // of v with itself
	table  weightTable[uint64] // v by feature, for exact comparisons

	least float64 // the smallest cosine asked for
	most  int     // the number of results asked for, or 0 for all
	Found []Hit   // the results so far; a heap with the worst first if most is not 0

	lists   [levels][]vectorList // the posting lists of v's terms
	rest    [levels]float64      // how long the unit vector of v is above each level
	bound   float64              // the cosine that a result must reach; least or more
	sums    []float32            // for each vector the sum so far; all 0 between searches
	dense   bool                 // touched is not kept any more
	touched []uint32             // the vectors whose sum is not 0, unless dense
	picked  []uint32             // the candidates for exact comparison
	signed  bool                 // products may be negative, so sums may also fall
	sample  []float32            // the heap of raise
}

// A vectorList is a posting list to be read, with the weight that its term has in the unit vector
// of the query.
type vectorList struct {
	from, to uint32
	x        float32
}

// A Hit is a vector that was found: the number of its run and its ordinal there. The caller numbers
// the runs; the vectors that are in no run yet count as one more run behind the others.
type Hit struct {
	Cosine float64
	Run    int
	Ord    uint32
}

// Worse reports whether a comes after b in the results: a has the lower cosine, or the same and was
// added later.
func (a Hit) Worse(b Hit) bool {
	if a.Cosine != b.Cosine {
		return a.Cosine < b.Cosine
	}
	return a.Run > b.Run || a.Run == b.Run && a.Ord > b.Ord
}

// Queries has *Query values to use again, so that a search need not allocate a sum for every
// vector. Their sums are 0.
var Queries = sync.Pool{New: func() any { return new(Query) }}

// Set begins a new query: for the most vectors with the greatest cosines, or for all if most is 0,
// with a cosine above 0 and of at least least. It keeps v until the next Set.
func (q *Query) Set(v []Term, least float64, most int) {
	q.v, q.square, q.least, q.most, q.Found, q.bound = v, Square(v), least, most, q.Found[:0], least
	q.table.set(len(v), func(i int) (uint64, float32) { return v[i].Feature, v[i].Weight })
}

// Cosine returns the exact cosine of the query and a document, which is a vector in the form of
// [AppendVector].
func (q *Query) Cosine(doc []uint64) float64 {
	dot, square := 0.0, 0.0
	n := docTerms(len(doc))
	for i, h := range doc[:n] {
		w := float64(docWeight(doc, n, i))
		square += w * w
		dot += w * float64(q.table.find(h))
	}
	return Of(dot, square, q.square)
}

// Offer adds a hit to the results if it is good enough, in place of the worst one if there are as
// many as were asked for. From then on a result must reach the worst one's cosine.
func (q *Query) Offer(h Hit) {
	switch {
	case !(h.Cosine >= q.least && h.Cosine > 0):
	case q.most == 0 || len(q.Found) < q.most:
		q.Found = append(q.Found, h)
		if q.most > 0 {
			siftUp(q.Found, Hit.Worse)
		}
	case q.Found[0].Worse(h):
		q.Found[0] = h
		siftDown(q.Found, Hit.Worse)
	}
	if q.most > 0 && len(q.Found) == q.most {
		q.bound = max(q.bound, q.Found[0].Cosine)
	}
}

// siftUp restores a heap after something was appended. before says which of two comes first;
// heap[0] comes before all others.
func siftUp[T any](heap []T, before func(a, b T) bool) {
	for i := len(heap) - 1; i > 0 && before(heap[i], heap[(i-1)/2]); i = (i - 1) / 2 {
		heap[i], heap[(i-1)/2] = heap[(i-1)/2], heap[i]
	}
}

// siftDown restores a heap after heap[0] was replaced.
func siftDown[T any](heap []T, before func(a, b T) bool) {
	for i := 0; ; {
		c := 2*i + 1
		if c+1 < len(heap) && before(heap[c+1], heap[c]) {
			c++
		}
		if c >= len(heap) || !before(heap[c], heap[i]) {
			return
		}
		heap[i], heap[c] = heap[c], heap[i]
		i = c
	}
}

// Search offers to q the vectors of the tables that may be results. It leaves out vectors for which
// sees is false; those were deleted. run goes into the hits. It must not be called for the same
// query by two goroutines.
func (t *Tables) Search(q *Query, run int, sees func(ord uint32) bool) {
	if q.square == 0 || t.docs.N == 0 {
		return
	}
	room := sumError(len(q.v))
	l := t.readLists(q, room, sees)
	// Compare the candidates with the largest sums first. They are likely to be results and to
	// raise the bound, so that most of the others fail the test below.
	if q.most > 0 {
		slices.SortFunc(q.picked, func(a, b uint32) int { return cmp.Compare(q.sums[b], q.sums[a]) })
	}
	rest, above := float32(q.rest[l])/255, t.above.at(l)
	for i, y := range q.picked {
		if i+2 < len(q.picked) { // by the time it is compared, its memory has come
			doc := t.docs.Doc(q.picked[i+2])
			kernel.Prefetch(unsafe.Pointer(unsafe.SliceData(doc)), 8*len(doc))
		}
		if q.sums[y]+rest*float32(above[y]) >= float32(q.bound-room) && sees(y) {
			q.Offer(Hit{q.Cosine(t.docs.Doc(y)), run, y})
		}
	}
	if q.dense {
		clear(q.sums)
		return
	}
	for _, y := range q.touched {
		q.sums[y] = 0
	}
}

// readLists reads the posting lists level by level, until it is cheaper to compare what may still be
// a result. It leaves these candidates in q.picked, and returns the level up to which lists were read
// and bounds hold.
func (t *Tables) readLists(q *Query, room float64, sees func(ord uint32) bool) (l int) {
	n := t.docs.N
	left := t.open(q) // postings that are not read yet
	read := 0         // postings that were read
	for ; l < levels-1; l++ {
		count := 0 // the postings of this level
		for _, list := range q.lists[l] {
			count += int(list.to - list.from)
		}
		read, left = read+count, left-count
		if !q.dense && read > n/4 {
			q.dense = true
			q.raise(t, l-1, room, sees) // sums are complete up to the level before
		}
		t.sum(q, l)
		if left == 0 {
			break
		}
		if count == 0 {
			continue
		}
		if t.tooEarly(q, l, left) {
			continue
		}
		q.raise(t, l, room, sees)
		// Unless it is dense, the search must not stop before rest alone is below the bound,
		// because pick sees the touched vectors only. An exact comparison takes time for each
		// term of the vectors, about as many as the query has. pick gives up if all of them would
		// take more than an eighth of the postings that are left.
		if (q.dense || q.rest[l]+room < q.bound) && q.pick(t, l, room, left/8/len(q.v)) {
			break
		}
	}
	// The loop read all lists, or all but those of the highest level. Otherwise it has picked.
	if left == 0 || l == levels-1 {
		if l == levels-1 {
			t.sum(q, l)
		}
		q.raise(t, l, room, sees)
		q.pick(t, l, room, n)
	}
	return l
}

// tooEarly reports whether to read on after level l, with so many postings left. A dense search waits
// while so little is left that looking at all sums would take as long, or while rest alone could carry
// an average vector half way to the bound. A search that is not dense waits while looking at the
// touched vectors would take an eighth of what is left, or more.
func (t *Tables) tooEarly(q *Query, l, left int) bool {
	if q.dense {
		return left < 2*t.docs.N || q.rest[l]*t.mean[l] > 0.5*q.bound
	}
	return left < 8*len(q.touched)
}

// sum reads the posting lists of a level and adds the products to the sums.
func (t *Tables) sum(q *Query, l int) {
	sums := q.sums
	for _, list := range q.lists[l] {
		x := list.x
		if q.dense {
			lists := t.lists[list.from:list.to]
			// Four at a time: sums is large, and the cache misses of the four overlap.
			for ; len(lists) >= 4; lists = lists[4:] {
				p0, p1, p2, p3 := lists[0], lists[1], lists[2], lists[3]
				sums[p0.vector()] += float32(x * p0.weight())
				sums[p1.vector()] += float32(x * p1.weight())
				sums[p2.vector()] += float32(x * p2.weight())
				sums[p3.vector()] += float32(x * p3.weight())
			}
			for _, p := range lists {
				sums[p.vector()] += float32(x * p.weight())
			}
			continue
		}
		for _, p := range t.lists[list.from:list.to] {
			y := p.vector()
			s := sums[y]
			if s == 0 {
				q.touched = append(q.touched, y)
			}
			sums[y] = touchedSum(s + float32(x*p.weight()))
		}
	}
}

// open prepares the query for these tables: it finds the posting lists of its terms, sorts them by
// level, and measures the query above each level. It returns the number of postings in all lists.
// Terms that no vector has count nowhere.
func (t *Tables) open(q *Query) (postings int) {
	for l := range q.lists {
		q.lists[l] = q.lists[l][:0]
	}
	n := t.docs.N
	if cap(q.sums) < n {
		q.sums = make([]float32, n)
	}
	q.sums, q.touched, q.dense, q.signed = q.sums[:n], q.touched[:0], false, t.signed
	var squares [levels]float64
	unit := UnitFactor(q.square)
	for _, term := range q.v {
		f, ok := t.find(term.Feature)
		if !ok {
			continue
		}
		from, to := t.starts[f], t.starts[f+1]
		l := termLevel(to-from, uint32(n))
		x := float64(term.Weight) * unit
		squares[l] += x * x
		q.signed = q.signed || x < 0
		kernel.Prefetch(unsafe.Pointer(&t.lists[from]), 8*min(int(to-from), 16)) // the first lines
		q.lists[l] = append(q.lists[l], vectorList{from, to, float32(x)})
		postings += int(to - from)
	}
	sum := 0.0
	for l := levels - 1; l >= 0; l-- {
		q.rest[l] = math.Sqrt(sum) * (1 + 1e-9) // without level l; never too small by rounding
		sum += squares[l]
	}
	return postings
}

// raise raises the bound to the greatest cosine that, by their lower bounds after level l, at least
// q.most vectors reach. A heap keeps the q.most greatest lower bounds; the smallest of them is that
// cosine, less room for rounding errors. If all results are asked for there is nothing to raise.
func (q *Query) raise(t *Tables, l int, room float64, sees func(ord uint32) bool) {
	if q.most == 0 || l < 0 {
		return
	}
	less := func(a, b float32) bool { return a < b }
	heap := q.sample[:0]
	rest, above := float32(q.rest[l])/255, t.above.at(l)
	low := float32(q.bound) // what a lower bound must exceed to matter
	add := func(y uint32) {
		s := q.sums[y]
		if q.signed { // what was not read may be negative
			s -= rest * float32(above[y])
		}
		switch {
		case s <= low || !sees(y):
			return
		case len(heap) < q.most:
			heap = append(heap, s)
			siftUp(heap, less)
		default:
			heap[0] = s
			siftDown(heap, less)
		}
		if len(heap) == q.most {
			low = heap[0]
		}
	}
	if q.dense {
		for y, s := range q.sums {
			if s > low {
				add(uint32(y))
			}
		}
	} else {
		for _, y := range q.touched {
			add(y)
		}
	}
	if q.sample = heap; len(heap) == q.most {
		q.bound = max(q.bound, float64(low)-room)
	}
}

// pick collects in q.picked the vectors whose upper bound after level l reaches the bound. It gives
// up and returns false if there are more than most. If the search is not dense it considers touched
// vectors only; then the caller has to know that no other vector can reach the bound.
func (q *Query) pick(t *Tables, l int, room float64, most int) bool {
	bound, rest, above := float32(q.bound-room), float32(q.rest[l])/255, t.above.at(l)
	q.picked = q.picked[:0]
	if q.dense {
		// The sum that a vector needs, by its length above the level. One table look-up for each
		// vector replaces a product. The last term is for rounding.
		var lacks [256]float32
		for a := range lacks {
			lacks[a] = bound - rest*float32(a) - 1e-7
		}
		for y, a := range above[:len(q.sums)] {
			if q.sums[y] >= lacks[a] {
				if len(q.picked) == most {
					return false
				}
				q.picked = append(q.picked, uint32(y))
			}
		}
		return true
	}
	for _, y := range q.touched {
		if q.sums[y]+rest*float32(above[y]) >= bound {
			if len(q.picked) == most {
				return false
			}
			q.picked = append(q.picked, y)
		}
	}
	return true
}
