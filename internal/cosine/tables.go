package cosine

import (
	"math"
	"math/bits"
	"slices"

	"github.com/neardup/neardup/internal/format"
	"github.com/neardup/neardup/internal/store"
)

// In an index a vector is a document of words: the hashes of its features, and then the bits of
// their weights, two to a word.

// AppendVector appends the words of a vector.
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

// docTerms returns the number of terms of a vector of so many words.
func docTerms(words int) int { return words * 2 / 3 }

// docWeight returns the weight of term i of n.
func docWeight(doc []uint64, n, i int) float32 {
	return math.Float32frombits(uint32(doc[n+i/2] >> (i % 2 * 32)))
}

// CheckVector returns an error if words are no vector.
func CheckVector(doc []uint64) error {
	n := docTerms(len(doc))
	if n+(n+1)/2 != len(doc) {
		return format.Damaged("a vector of %d words", len(doc))
	}
	before := uint64(0)
	for i, f := range doc[:n] {
		if f <= before || !isFinite(docWeight(doc, n, i)) {
			return format.Damaged("a vector with features out of order or a weight that is none")
		}
		before = f
	}
	return nil
}

// VectorOf appends the terms of a document to v.
func VectorOf(v []Term, doc []uint64) []Term {
	n := docTerms(len(doc))
	for i, h := range doc[:n] {
		v = append(v, Term{h, docWeight(doc, n, i)})
	}
	return v
}

// Docs are documents as a source of vectors.
type Docs struct {
	store.Column
	N int
}

func (d *Docs) Len() int { return d.N }

func (d *Docs) Vector(i int, buf []Term) []Term { return VectorOf(buf[:0], d.Doc(uint32(i))) }

func (d *Docs) Weigh(_ int, v []Term, _ []uint32) []Term { return v }

func (d *Docs) Counts(int) bool { return true }

// Tables find the vectors of a run.
type Tables struct {
	docs      Docs
	features  []uint64 // ascending
	starts    []uint32 // of their lists
	lists     []posting
	above     above
	directory []uint32        // by the highest bits of a feature: where those begin
	signed    bool            // there may be weights below 0
	mean      [levels]float64 // of above
}

func NewTables(docs store.Column) *Tables {
	t := &Tables{docs: Docs{docs, len(docs.Ends)}}
	v := Number(&t.docs, 1)
	p := newPostings(v, func(int) bool { return true }, func(int) int { return levels })
	t.features, t.starts, t.lists, t.above = v.features, p.starts, p.lists, v.measure()
	t.prepare()
	return t
}

// prepare makes what is not in files.
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

func (t *Tables) shift() int { return 64 - max(1, bits.Len(uint(len(t.features)))-1) }

// find returns the number of a feature, if it is there.
func (t *Tables) find(feature uint64) (uint32, bool) {
	at := t.directory[feature>>t.shift():][:2]
	i, ok := slices.BinarySearch(t.features[at[0]:at[1]], feature)
	return at[0] + uint32(i), ok
}

func (t *Tables) Bytes() int {
	return 8*(cap(t.features)+cap(t.lists)) + 4*(cap(t.starts)+cap(t.directory)) + cap(t.above.in)
}

func (t *Tables) Write(*format.Writer) {}

// ReadTables reads what write wrote.
func ReadTables(*format.Reader) *Tables { return &Tables{} }

func (t *Tables) Columns() store.FinderColumns[[][]byte] {
	return store.FinderColumns[[][]byte]{{store.AsBytes(t.features)}, {store.AsBytes(t.starts)}, {store.AsBytes(t.lists)}, {t.above.in}}
}

// Attach reads the whole file, if it has not been: every search goes through all of it.
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

// check returns an error if searches would leave the columns.
func (t *Tables) check() error {
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
	if end != uint64(len(t.docs.Docs)) || len(t.starts) != len(t.features)+1 || len(t.above.in) != levels*t.docs.N {
		return store.ErrColumns
	}
	if t.starts[0] != 0 || int(t.starts[len(t.features)]) != len(t.lists) || !slices.IsSorted(t.starts) || !slices.IsSorted(t.features) {
		return format.Damaged("lists are out of order")
	}
	for i, from := range t.starts[:len(t.features)] {
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
