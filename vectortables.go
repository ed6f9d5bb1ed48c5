package neardup

import (
	"math"
	"math/bits"
	"slices"
	"sync"
)

// In an index a vector is a document of words: the hashes of its features, and then the bits of
// their weights, two to a word.

// appendVector appends the words of a vector.
func appendVector(doc []uint64, v Vector) []uint64 {
	for _, t := range v {
		doc = append(doc, t.Feature)
	}
	for i := 0; i < len(v); i += 2 {
		w := uint64(math.Float32bits(v[i].Weight))
		if i+1 < len(v) {
			w |= uint64(math.Float32bits(v[i+1].Weight)) << 32
		}
		doc = append(doc, w)
	}
	return doc
}

// docTerms returns the number of terms of a vector of so many words.
func docTerms(words int) int { return words * 2 / 3 }

// docWeight returns the weight of term i of n.
func docWeight(doc []uint64, n, i int) float32 {
	return math.Float32frombits(uint32(doc[n+i/2] >> (i % 2 * 32)))
}

// vectorOf appends the terms of a document to v.
func vectorOf(v Vector, doc []uint64) Vector {
	n := docTerms(len(doc))
	for i, h := range doc[:n] {
		v = append(v, Term{h, docWeight(doc, n, i)})
	}
	return v
}

// vectorDocs are documents as a source of vectors.
type vectorDocs struct {
	docColumn
	n int
}

func (d *vectorDocs) len() int { return d.n }

func (d *vectorDocs) vector(i int, buf Vector) Vector { return vectorOf(buf[:0], d.doc(uint32(i))) }

// vectorTables find the vectors of a run.
type vectorTables struct {
	docs      vectorDocs
	features  []uint64 // ascending
	starts    []uint32 // of their lists
	vectors   []uint32
	weights   []float32
	above     []above
	directory []uint32 // by the highest bits of a feature: where those begin
	signed    bool     // there may be weights below 0
}

func newVectorTables(docs docColumn) *vectorTables {
	t := &vectorTables{docs: vectorDocs{docs, len(docs.ends)}}
	v := numberTerms(&t.docs, 1)
	p := newPostings(v, v.n, 0)
	t.features, t.starts, t.vectors, t.weights, t.above = v.features, p.starts, p.vectors, p.weights, p.above
	t.prepare()
	return t
}

// prepare makes what is not in files.
func (t *vectorTables) prepare() {
	shift := t.shift()
	t.directory = make([]uint32, 1<<(64-shift)+1)
	for _, f := range t.features {
		t.directory[f>>shift+1]++
	}
	for i := 1; i < len(t.directory); i++ {
		t.directory[i] += t.directory[i-1]
	}
	for _, w := range t.weights {
		t.signed = t.signed || w < 0
	}
}

func (t *vectorTables) shift() int { return 64 - max(1, bits.Len(uint(len(t.features)))-1) }

// find returns the number of a feature, if it is there.
func (t *vectorTables) find(feature uint64) (uint32, bool) {
	at := t.directory[feature>>t.shift():][:2]
	i, ok := slices.BinarySearch(t.features[at[0]:at[1]], feature)
	return at[0] + uint32(i), ok
}

func (t *vectorTables) bytes() int {
	return 8*cap(t.features) + 4*(cap(t.starts)+cap(t.vectors)+cap(t.weights)+cap(t.directory)) + levels*cap(t.above)
}

func (t *vectorTables) write(f *fileWriter) {}

func (t *vectorTables) columns() finderColumns[[][]byte] {
	weights := make([]uint32, len(t.weights))
	for i, w := range t.weights {
		weights[i] = math.Float32bits(w)
	}
	aboves := make([]byte, 0, levels*len(t.above))
	for i := range t.above {
		aboves = append(aboves, t.above[i][:]...)
	}
	return finderColumns[[][]byte]{{asBytes(t.features)}, {asBytes(t.starts)}, {asBytes(t.vectors)}, {asBytes(weights)}, {aboves}}
}

// attach reads the whole file, if it has not been: every search goes through all of it.
func (t *vectorTables) attach(docs docColumn, file *mapping, columns finderColumns[[]byte]) error {
	if file != nil {
		if err := file.verify(); err != nil {
			return err
		}
	}
	*t = vectorTables{docs: vectorDocs{docs, len(docs.ends)},
		features: numbers[uint64](columns[0]), starts: numbers[uint32](columns[1]), vectors: numbers[uint32](columns[2])}
	t.weights = make([]float32, len(columns[3])/4)
	for i, w := range numbers[uint32](columns[3]) {
		t.weights[i] = math.Float32frombits(w)
	}
	t.above = make([]above, len(columns[4])/levels)
	for i := range t.above {
		copy(t.above[i][:], columns[4][i*levels:])
	}
	if err := t.check(); err != nil {
		return err
	}
	t.prepare()
	return nil
}

// check returns an error if searches would leave the columns.
func (t *vectorTables) check() error {
	end := uint64(0)
	for _, e := range t.docs.ends {
		if e < end || (e-end)%3 == 1 {
			return damaged("a vector of %d words", e-end)
		}
		end = e
	}
	if end != uint64(len(t.docs.docs)) || len(t.starts) != len(t.features)+1 || len(t.weights) != len(t.vectors) || len(t.above) != t.docs.n {
		return errColumns
	}
	if t.starts[0] != 0 || int(t.starts[len(t.features)]) != len(t.vectors) || !slices.IsSorted(t.starts) || !slices.IsSorted(t.features) {
		return damaged("lists are out of order")
	}
	for i, from := range t.starts[:len(t.features)] {
		if n := t.starts[i+1] - from; n == 0 || int(n) > t.docs.n {
			return damaged("a list of %d of %d vectors", n, t.docs.n)
		}
	}
	for _, v := range t.vectors {
		if int(v) >= t.docs.n {
			return damaged("vector %d of %d is in a list", v, t.docs.n)
		}
	}
	return nil
}

// A vectorQuery is a vector to search for, and what was found.
type vectorQuery struct {
	v      Vector
	square float64
	table  weightTable[uint64]

	least float64     // what is asked for, at first
	most  int         // how many are, or 0: all
	found []vectorHit // a heap, the worst first, if most is not 0

	lists   [levels][]vectorList
	rest    [levels]float64 // by level: how long the part above it is of the unit vector
	sums    []float32
	touched []uint32
	sample  []float32 // a heap
}

// A vectorList is a list to be read.
type vectorList struct {
	from, to uint32
	x        float32 // of the unit vector
}

// A vectorHit is a vector that was found: the number of the run, or what follows them, and where it is there.
type vectorHit struct {
	cosine float64
	run    int
	ord    uint32
}

// worse reports whether a comes after b in the results.
func (a vectorHit) worse(b vectorHit) bool {
	if a.cosine != b.cosine {
		return a.cosine < b.cosine
	}
	return a.run > b.run || a.run == b.run && a.ord > b.ord
}

// vectorQueries keeps the buffers between searches.
var vectorQueries = sync.Pool{New: func() any { return new(vectorQuery) }}

func (q *vectorQuery) set(v Vector, least float64, most int) {
	q.v, q.square, q.least, q.most, q.found = v, v.square(), least, most, q.found[:0]
	q.table.set(len(v), func(i int) (uint64, float32) { return v[i].Feature, v[i].Weight })
}

// cosine returns that of the query and a document.
func (q *vectorQuery) cosine(doc []uint64) float64 {
	dot, square := 0.0, 0.0
	n := docTerms(len(doc))
	for i, h := range doc[:n] {
		w := float64(docWeight(doc, n, i))
		square += w * w
		dot += w * float64(q.table.find(h))
	}
	return cosine(dot, square, q.square)
}

// offer takes in a hit, if it is good enough.
func (q *vectorQuery) offer(h vectorHit) {
	switch {
	case h.cosine < q.least || h.cosine <= 0:
	case q.most == 0 || len(q.found) < q.most:
		q.found = append(q.found, h)
		if q.most > 0 {
			siftUp(q.found, vectorHit.worse)
		}
	case q.found[0].worse(h):
		q.found[0] = h
		siftDown(q.found, vectorHit.worse)
	}
}

// bound is the cosine that a vector needs to become a hit.
func (q *vectorQuery) bound() float64 {
	if q.most > 0 && len(q.found) == q.most {
		return max(q.least, q.found[0].cosine)
	}
	return q.least
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

// search offers what it finds in the vectors of a run, of those that sees says are there.
func (t *vectorTables) search(q *vectorQuery, run int, sees func(ord uint32) bool) {
	if q.square == 0 || t.docs.n == 0 {
		return
	}
	left, signed := t.open(q)
	room := sumError(len(q.v))
	n := t.docs.n
	if len(q.sums) < n {
		q.sums = make([]float32, n)
	}
	sums := q.sums[:n]
	q.touched = q.touched[:0]
	dense := false // all sums are looked at, and not only those touched
	read := 0
	bound := q.bound()
	for l := range levels {
		count := 0
		for _, list := range q.lists[l] {
			count += int(list.to - list.from)
		}
		if count == 0 && l > 0 {
			continue
		}
		read, left = read+count, left-count
		dense = dense || read > n/4
		for _, list := range q.lists[l] {
			x, ys, ws := list.x, t.vectors[list.from:list.to], t.weights[list.from:list.to]
			if dense {
				for i, y := range ys {
					sums[y] += float32(x * ws[i])
				}
				continue
			}
			for i, y := range ys {
				if sums[y] == 0 {
					q.touched = append(q.touched, y)
				}
				sums[y] += float32(x * ws[i])
			}
		}
		rest := float32(q.rest[l])
		if left > 0 && (left < 2*n && dense || !dense && left < 8*len(q.touched)) {
			continue // to think about it would take as long
		}
		if q.most > 0 {
			if b, ok := q.kth(sums, dense, t.above, l, rest, signed, sees); ok {
				bound = max(bound, float64(b)-room)
			}
		}
		if left > 0 && !dense && q.rest[l]+room >= bound {
			continue // what was not touched may be similar
		}
		if left > 0 && q.candidates(sums, dense, t.above, l, rest, float32(bound-room))*len(q.v)*2 > left {
			continue
		}
		t.finish(q, run, sums, dense, l, rest, bound-room, sees)
		return
	}
	t.finish(q, run, sums, dense, levels-1, 0, bound-room, sees)
}

// open finds the lists of a query, and returns how long they are, and whether there may be
// weights below 0.
func (t *vectorTables) open(q *vectorQuery) (postings int, signed bool) {
	for l := range q.lists {
		q.lists[l] = q.lists[l][:0]
	}
	var squares [levels]float64
	unit := unitFactor(q.square)
	signed = t.signed
	for _, term := range q.v {
		f, ok := t.find(term.Feature)
		if !ok {
			continue
		}
		from, to := t.starts[f], t.starts[f+1]
		l := termLevel(to-from, uint32(t.docs.n))
		x := float64(term.Weight) * unit
		squares[l] += x * x
		signed = signed || x < 0
		q.lists[l] = append(q.lists[l], vectorList{from, to, float32(x)})
		postings += int(to - from)
	}
	sum := 0.0
	for l := levels - 1; l >= 0; l-- {
		q.rest[l] = math.Sqrt(sum) * (1 + 1e-9)
		sum += squares[l]
	}
	return postings, signed
}

// kth returns a cosine that, but for rounding, so many vectors as are asked for reach.
func (q *vectorQuery) kth(sums []float32, dense bool, above []above, l int, rest float32, signed bool, sees func(ord uint32) bool) (float32, bool) {
	less := func(a, b float32) bool { return a < b }
	heap := q.sample[:0]
	add := func(y uint32) {
		s := sums[y]
		if len(heap) == q.most && s <= heap[0] {
			return
		}
		if signed { // the rest may take away
			s -= rest * float32(above[y][l]) / 255
		}
		switch {
		case len(heap) == q.most && s <= heap[0] || !sees(y):
		case len(heap) < q.most:
			heap = append(heap, s)
			siftUp(heap, less)
		default:
			heap[0] = s
			siftDown(heap, less)
		}
	}
	if dense {
		for y := range sums {
			add(uint32(y))
		}
	} else {
		for _, y := range q.touched {
			add(y)
		}
	}
	q.sample = heap
	return append(heap, 0)[0], len(heap) == q.most
}

// candidates returns how many vectors may reach a bound.
func (q *vectorQuery) candidates(sums []float32, dense bool, above []above, l int, rest, bound float32) (n int) {
	rest /= 255
	if dense {
		for y, s := range sums {
			if s+rest*float32(above[y][l]) >= bound {
				n++
			}
		}
		return n
	}
	for _, y := range q.touched {
		if sums[y]+rest*float32(above[y][l]) >= bound {
			n++
		}
	}
	return n
}

// finish compares the vectors that may reach a bound, and clears the sums.
func (t *vectorTables) finish(q *vectorQuery, run int, sums []float32, dense bool, l int, rest float32, bound float64, sees func(ord uint32) bool) {
	rest /= 255
	low := float32(bound)
	try := func(y uint32) {
		if s := sums[y]; s+rest*float32(t.above[y][l]) >= low && s > -2 && sees(y) {
			q.offer(vectorHit{q.cosine(t.docs.doc(y)), run, y})
			sums[y] = -3 // nor again, if it was touched twice
		}
	}
	if dense {
		for y := range sums {
			try(uint32(y))
		}
		clear(sums)
		return
	}
	for _, y := range q.touched {
		try(y)
	}
	for _, y := range q.touched {
		sums[y] = 0
	}
}

// vectorTables reads what write wrote.
func (f *fileReader) vectorTables() *vectorTables { return &vectorTables{} }
