package cosine

import (
	"math"
	"math/bits"
	"slices"

	"github.com/neardup/neardup/internal/format"
	"github.com/neardup/neardup/internal/store"
)

// This file is the index of one run, a fixed set of vectors that may lie in a file.
//
// In an index a vector is a document of 64-bit words: the hashes of its n features, ascending, and
// then the bits of their float32 weights, two to a word:
//
//	feature 0 … feature n−1 | weight 1, weight 0 | weight 3, weight 2 | …
//
// with the first weight of a pair in the lower half. If n is odd the last upper half is 0. So a
// vector takes n+⌈n/2⌉ words, and the number of words says what n is.
//
// A file of an index has the inverted index in four columns, which are mapped and used where they
// are: features, starts, lists and above, as in [Tables]. Nothing is in the records.

// AppendVector appends the words of a vector to doc.
func AppendVector(doc []uint64, v []Term) []uint64 {
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

// docTerms returns the number of terms of a vector that takes this many words.
func docTerms(words int) int { return words * 2 / 3 }

// docWeight returns the weight of term i of the n terms of a document.
func docWeight(doc []uint64, n, i int) float32 {
	return math.Float32frombits(uint32(doc[n+i/2] >> (i % 2 * 32)))
}

// CheckVector returns an error if a document is not a vector: its features must ascend and be above
// 0, its weights must be finite.
func CheckVector(doc []uint64) error {
	n := docTerms(len(doc))
	if n+(n+1)/2 != len(doc) {
		return format.Damaged("a vector of %d words", len(doc))
	}
	before := uint64(0)
	for i, f := range doc[:n] {
		if f <= before || !isFinite(docWeight(doc, n, i)) {
			return format.Damaged("a vector with features out of order or an invalid weight")
		}
		before = f
	}
	return nil
}

// VectorOf appends the terms of a document to v. It is the inverse of [AppendVector].
func VectorOf(v []Term, doc []uint64) []Term {
	n := docTerms(len(doc))
	for i, h := range doc[:n] {
		v = append(v, Term{h, docWeight(doc, n, i)})
	}
	return v
}

// Docs is a column of documents as a [Source].
type Docs struct {
	store.Column
	N int // documents
}

// Len implements [Source].
func (d *Docs) Len() int { return d.N }

// Vector implements [Source].
func (d *Docs) Vector(i int, buf []Term) []Term { return VectorOf(buf[:0], d.Doc(uint32(i))) }

// Tables is the inverted index of the vectors of a run. It never changes. Unlike a join it has
// all terms of all vectors, because it does not know the thresholds of its queries.
type Tables struct {
	docs     Docs
	features []uint64  // ascending; the index of a feature is its number
	starts   []uint32  // where the posting list of each begins in lists, and the end of the last
	lists    []posting // by ascending vector within a list
	above    above

	// What follows is made by prepare and is not in files.

	directory []uint32        // by the highest bits of a feature: where such features begin
	signed    bool            // some weight is below 0
	mean      [levels]float64 // the average length of the vectors above each level
}

// NewTables builds the inverted index of the documents, which it keeps.
func NewTables(docs store.Column) *Tables {
	t := &Tables{docs: Docs{docs, len(docs.Ends)}}
	v := number(&t.docs, 1)
	p := newPostings(v, func(int) bool { return true }, func(int) int { return levels })
	t.features, t.starts, t.lists, t.above = v.features, p.starts, p.lists, v.measure()
	t.prepare()
	return t
}

// prepare makes the parts that are not in files.
func (t *Tables) prepare() {
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
		t.mean[l] = float64(sum) / 255 / float64(max(t.docs.N, 1))
	}
}

// shift returns by how much to shift a feature right to get its index in directory. There is one
// directory entry for one or two features, but there are at least two entries.
func (t *Tables) shift() int { return 64 - max(1, bits.Len(uint(len(t.features)))-1) }

// find returns the number of a feature, and whether there is one. Features are hashes, so the
// directory leaves only a few to search.
func (t *Tables) find(feature uint64) (uint32, bool) {
	at := t.directory[feature>>t.shift():][:2]
	i, ok := slices.BinarySearch(t.features[at[0]:at[1]], feature)
	return at[0] + uint32(i), ok
}

// Bytes returns the memory that the inverted index takes, without the documents.
func (t *Tables) Bytes() int {
	return 8*(cap(t.features)+cap(t.lists)) + 4*(cap(t.starts)+cap(t.directory)) + cap(t.above.in)
}

// Write writes the records, of which there are none.
func (t *Tables) Write(*format.Writer) {}

// ReadTables returns tables that are complete after [Tables.Attach].
func ReadTables(*format.Reader) *Tables { return &Tables{} }

// Columns returns the columns of the inverted index. The fifth is empty.
func (t *Tables) Columns() store.FinderColumns[[][]byte] {
	return store.FinderColumns[[][]byte]{{store.AsBytes(t.features)}, {store.AsBytes(t.starts)}, {store.AsBytes(t.lists)}, {t.above.in}}
}

// Attach completes tables that were read from a file. It verifies the whole file and checks every
// number in it at once, because searches are spread over all of it, and then need no checks. file
// is nil if the columns are not mapped.
func (t *Tables) Attach(docs store.Column, file *store.Mapping, columns store.FinderColumns[[]byte]) error {
	if file != nil {
		if err := file.Verify(); err != nil {
			return err
		}
	}
	n := len(docs.Ends)
	*t = Tables{docs: Docs{docs, n}, features: store.Numbers[uint64](columns[0]), starts: store.Numbers[uint32](columns[1]),
		lists: store.Numbers[posting](columns[2]), above: above{n, columns[3]}}
	if err := t.check(); err != nil {
		return err
	}
	if len(columns[4]) > 0 {
		return store.ErrColumns
	}
	t.prepare()
	return nil
}

// check returns an error if a search would use an index that is out of range. It does not find
// wrong weights or lengths; these would give too few results.
func (t *Tables) check() error {
	if err := t.checkVectors(); err != nil {
		return err
	}
	if len(t.starts) != len(t.features)+1 || len(t.above.in) != levels*t.docs.N {
		return store.ErrColumns
	}
	if t.starts[0] != 0 || int(t.starts[len(t.features)]) != len(t.lists) || !slices.IsSorted(t.starts) || !slices.IsSorted(t.features) {
		return format.Damaged("lists are out of order")
	}
	for i, from := range t.starts[:len(t.features)] { // termLevel divides by n
		if n := t.starts[i+1] - from; n == 0 || int(n) > t.docs.N {
			return format.Damaged("a list of %d of %d vectors", n, t.docs.N)
		}
	}
	for _, p := range t.lists {
		if int(p.vector()) >= t.docs.N {
			return format.Damaged("vector %d of %d is in a list", p.vector(), t.docs.N)
		}
	}
	return nil
}

// checkVectors returns an error unless the vectors are valid and fill their column.
func (t *Tables) checkVectors() error {
	end := uint64(0)
	for _, e := range t.docs.Ends {
		if e < end || e > uint64(len(t.docs.Docs)) {
			return format.Damaged("a vector that ends at word %d of %d", e, len(t.docs.Docs))
		}
		if err := CheckVector(t.docs.Docs[end:e]); err != nil {
			return err
		}
		end = e
	}
	if end != uint64(len(t.docs.Docs)) {
		return store.ErrColumns
	}
	return nil
}
