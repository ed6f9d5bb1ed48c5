package cosine

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"unsafe"

	"github.com/neardup/neardup/internal/kernel"
)

// A Query is a vector to search for, and what was found.
type Query struct {
	v      []Term
	square float64
	table  weightTable[uint64]

	least float64 // what is asked for, at first
	most  int     // how many are, or 0: all
	Found []Hit   // a heap, the worst first, if most is not 0

	lists   [levels][]vectorList
	rest    [levels]float64 // by level: how long the part above it is of the unit vector
	bound   float64         // the cosine that a vector needs
	sums    []float32
	dense   bool // all sums are looked at, and not only those that were touched
	touched []uint32
	picked  []uint32
	signed  bool // there may be products below 0
	sample  []float32
}

// A vectorList is a list to be read.
type vectorList struct {
	from, to uint32
	x        float32 // of the unit vector
}

// A Hit is a vector that was found: the number of the run, or what follows them, and where
// it is there.
type Hit struct {
	Cosine float64
	Run    int
	Ord    uint32
}

// Worse reports whether a comes after b in the results.
func (a Hit) Worse(b Hit) bool {
	if a.Cosine != b.Cosine {
		return a.Cosine < b.Cosine
	}
	return a.Run > b.Run || a.Run == b.Run && a.Ord > b.Ord
}

// Queries keeps the buffers between searches.
var Queries = sync.Pool{New: func() any { return new(Query) }}

func (q *Query) Set(v []Term, least float64, most int) {
	q.v, q.square, q.least, q.most, q.Found, q.bound = v, Square(v), least, most, q.Found[:0], least
	q.table.set(len(v), func(i int) (uint64, float32) { return v[i].Feature, v[i].Weight })
}

// Cosine returns that of the query and a document.
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

// Offer takes in a hit, if it is good enough.
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

// siftUp makes a heap of one to which something was appended; the first is before all others.
func siftUp[T any](heap []T, before func(a, b T) bool) {
	for i := len(heap) - 1; i > 0 && before(heap[i], heap[(i-1)/2]); i = (i - 1) / 2 {
		heap[i], heap[(i-1)/2] = heap[(i-1)/2], heap[i]
	}
}

// siftDown makes a heap of one of which the first was replaced.
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

// Search offers what it finds in the vectors of a run, of those that sees says are there.
func (t *Tables) Search(q *Query, run int, sees func(ord uint32) bool) {
	if q.square == 0 || t.docs.N == 0 {
		return
	}
	n, room := t.docs.N, sumError(len(q.v))
	left := t.open(q)
	read := 0
	l := 0
	for ; l < levels-1; l++ {
		count := 0
		for _, list := range q.lists[l] {
			count += int(list.to - list.from)
		}
		read, left = read+count, left-count
		if !q.dense && read > n/4 {
			q.dense = true
			q.raise(t, l-1, room, sees)
		}
		t.sum(q, l)
		if left == 0 {
			break
		}
		if count == 0 {
			continue
		}
		// What was not touched may be similar, or to think about it would take as long.
		if q.dense && (left < 2*n || q.rest[l]*t.mean[l] > 0.5*q.bound) || !q.dense && left < 8*len(q.touched) {
			continue
		}
		q.raise(t, l, room, sees)
		if (q.dense || q.rest[l]+room < q.bound) && q.pick(t, l, room, left/8/len(q.v)) {
			break
		}
	}
	if left == 0 || l == levels-1 {
		if l == levels-1 {
			t.sum(q, l)
		}
		q.raise(t, l, room, sees)
		q.pick(t, l, room, n)
	}
	// The largest sums first: they raise the bound for the others.
	if q.most > 0 {
		slices.SortFunc(q.picked, func(a, b uint32) int { return cmp.Compare(q.sums[b], q.sums[a]) })
	}
	rest, above := float32(q.rest[l])/255, t.above.at(l)
	for i, y := range q.picked {
		if i+2 < len(q.picked) {
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

// sum reads the lists of a level.
func (t *Tables) sum(q *Query, l int) {
	sums := q.sums
	for _, list := range q.lists[l] {
		x := list.x
		if q.dense {
			lists := t.lists[list.from:list.to]
			for ; len(lists) >= 4; lists = lists[4:] { // side by side, as they come from far away
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

// open finds the lists of a query, prepares it, and returns how long they are.
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
		kernel.Prefetch(unsafe.Pointer(&t.lists[from]), 8*min(int(to-from), 16))
		q.lists[l] = append(q.lists[l], vectorList{from, to, float32(x)})
		postings += int(to - from)
	}
	sum := 0.0
	for l := levels - 1; l >= 0; l-- {
		q.rest[l] = math.Sqrt(sum) * (1 + 1e-9)
		sum += squares[l]
	}
	return postings
}

// raise makes the bound, but for rounding, the cosine that as many vectors as are asked for reach,
// by what was read up to a level.
func (q *Query) raise(t *Tables, l int, room float64, sees func(ord uint32) bool) {
	if q.most == 0 || l < 0 {
		return
	}
	less := func(a, b float32) bool { return a < b }
	heap := q.sample[:0]
	rest, above := float32(q.rest[l])/255, t.above.at(l)
	low := float32(q.bound) // less would not raise it
	add := func(y uint32) {
		s := q.sums[y]
		if q.signed { // the rest may take away
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

// pick picks the vectors that may reach the bound, unless they are more than most, and
// reports whether it did.
func (q *Query) pick(t *Tables, l int, room float64, most int) bool {
	bound, rest, above := float32(q.bound-room), float32(q.rest[l])/255, t.above.at(l)
	q.picked = q.picked[:0]
	if q.dense {
		var lacks [256]float32 // what a sum needs, by how long its vector is above the level
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
