package neardup

import (
	"math"
	"math/bits"
	"slices"
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

// checkVector returns an error if words are no vector.
func checkVector(doc []uint64) error {
	n := docTerms(len(doc))
	if n+(n+1)/2 != len(doc) {
		return damaged("a vector of %d words", len(doc))
	}
	before := uint64(0)
	for i, f := range doc[:n] {
		if f <= before || !isFinite(docWeight(doc, n, i)) {
			return damaged("a vector with features out of order or a weight that is none")
		}
		before = f
	}
	return nil
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

func (d *vectorDocs) weigh(_ int, v Vector, _ []uint32) Vector { return v }

func (d *vectorDocs) counts(int) bool { return true }

// vectorTables find the vectors of a run.
type vectorTables struct {
	docs      vectorDocs
	features  []uint64 // ascending
	starts    []uint32 // of their lists
	lists     []posting
	above     above
	directory []uint32        // by the highest bits of a feature: where those begin
	signed    bool            // there may be weights below 0
	mean      [levels]float64 // of above
}

func newVectorTables(docs docColumn) *vectorTables {
	t := &vectorTables{docs: vectorDocs{docs, len(docs.ends)}}
	v := numberTerms(&t.docs, 1)
	p := newPostings(v, func(int) bool { return true }, func(int) int { return levels })
	t.features, t.starts, t.lists, t.above = v.features, p.starts, p.lists, v.measure()
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
	for _, p := range t.lists {
		t.signed = t.signed || p.weight() < 0
	}
	for l := range t.mean {
		sum := 0
		for _, a := range t.above.at(l) {
			sum += int(a)
		}
		t.mean[l] = float64(sum) / 255 / float64(max(t.docs.n, 1))
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
	return 8*(cap(t.features)+cap(t.lists)) + 4*(cap(t.starts)+cap(t.directory)) + cap(t.above.in)
}

func (t *vectorTables) write(*fileWriter) {}

// vectorTables reads what write wrote.
func (f *fileReader) vectorTables() *vectorTables { return &vectorTables{} }

func (t *vectorTables) columns() finderColumns[[][]byte] {
	return finderColumns[[][]byte]{{asBytes(t.features)}, {asBytes(t.starts)}, {asBytes(t.lists)}, {t.above.in}}
}

// attach reads the whole file, if it has not been: every search goes through all of it.
func (t *vectorTables) attach(docs docColumn, file *mapping, columns finderColumns[[]byte]) error {
	if file != nil {
		if err := file.verify(); err != nil {
			return err
		}
	}
	n := len(docs.ends)
	*t = vectorTables{docs: vectorDocs{docs, n}, features: numbers[uint64](columns[0]), starts: numbers[uint32](columns[1]),
		lists: numbers[posting](columns[2]), above: above{n, columns[3]}}
	if err := t.check(); err != nil {
		return err
	}
	if len(columns[4]) > 0 {
		return errColumns
	}
	t.prepare()
	return nil
}

// check returns an error if searches would leave the columns.
func (t *vectorTables) check() error {
	end := uint64(0)
	for _, e := range t.docs.ends {
		if e < end || e > uint64(len(t.docs.docs)) {
			return damaged("a vector that ends at word %d of %d", e, len(t.docs.docs))
		}
		if err := checkVector(t.docs.docs[end:e]); err != nil {
			return err
		}
		end = e
	}
	if end != uint64(len(t.docs.docs)) || len(t.starts) != len(t.features)+1 || len(t.above.in) != levels*t.docs.n {
		return errColumns
	}
	if t.starts[0] != 0 || int(t.starts[len(t.features)]) != len(t.lists) || !slices.IsSorted(t.starts) || !slices.IsSorted(t.features) {
		return damaged("lists are out of order")
	}
	for i, from := range t.starts[:len(t.features)] {
		if n := t.starts[i+1] - from; n == 0 || int(n) > t.docs.n {
			return damaged("a list of %d of %d vectors", n, t.docs.n)
		}
	}
	for _, p := range t.lists {
		if int(p.vector()) >= t.docs.n {
			return damaged("vector %d of %d is in a list", p.vector(), t.docs.n)
		}
	}
	return nil
}
