package neardup

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/neardup/neardup/internal/exact"
	"github.com/neardup/neardup/internal/format"
	"github.com/neardup/neardup/internal/graph"
	"github.com/neardup/neardup/internal/minhash"
	"github.com/neardup/neardup/internal/store"
)

// A Banding cuts signatures into Bands bands of Rows values each. Two of them are
// candidates if they agree on all values of at least one band, which for sets of the Jaccard
// similarity s has the probability 1 − (1 − s^Rows)^Bands: an S-curve, steep near
// (1/Bands)^(1/Rows) (Broder 1997; Leskovec et al., Mining of Massive Datasets, §3.4).
type Banding struct{ Bands, Rows int }

// NewBanding returns the banding of at most so many values that loses least: of the pairs
// above the similarity those that are no candidates, and price times those below it that
// are, where all similarities are taken to be equally frequent. A price of 1 weighs them the
// same, as others do; a [SignatureIndex] chooses by 0.1. It takes time for values·ln values
// bandings, some 100 µs for 128.
//
// A similarity that is not between 0 and 1, a price that is not positive, and less than one
// value panic.
func NewBanding(values int, similarity, price float64) Banding {
	if values < 1 || !(similarity > 0 && similarity <= 1) || !(price > 0) {
		panic(fmt.Sprintf("neardup: NewBanding(%d, %g, %g)", values, similarity, price))
	}
	// By Simpson's rule: what is below the similarity, and what is above.
	const steps = 64
	var at, weight, rows [2 * (steps + 1)]float64 // similarities, and their powers
	for i := range at {
		from, to, cost := 0.0, similarity, price
		if i > steps {
			from, to, cost = similarity, 1, -1
		}
		n := i % (steps + 1)
		at[i] = from + float64(float64(n)*float64((to-from)/steps))
		weight[i] = float64(cost * float64((to-from)/(3*steps)))
		if rows[i] = 1; n > 0 && n < steps {
			weight[i] = float64(weight[i] * float64(2+2*(n%2)))
		}
	}
	var best Banding
	least := 0.0
	for r := 1; r <= values; r++ {
		var no [2 * (steps + 1)]float64 // of being no candidate
		for i := range at {
			rows[i] = float64(rows[i] * at[i])
			no[i] = 1
		}
		for b := 1; b <= values/r; b++ {
			loss := 0.0 // but for what does not depend on the banding
			for i := range at {
				no[i] = float64(no[i] * (1 - rows[i]))
				loss += float64(weight[i] * (1 - no[i]))
			}
			if best == (Banding{}) || loss < least {
				best, least = Banding{b, r}, loss
			}
		}
	}
	return best
}

// Probability returns that of two sets of a Jaccard similarity being candidates, for signatures
// without chance. It is the same on every platform.
func (b Banding) Probability(similarity float64) float64 {
	return 1 - exact.Power(1-exact.Power(similarity, b.Rows), b.Bands)
}

// String returns the banding and its S-curve:
//
//	32 bands of 4 rows: 0.1 0.003, 0.2 0.050, 0.3 0.229, 0.4 0.564, …
func (b Banding) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "%d bands of %d rows", b.Bands, b.Rows)
	for i := 1; i < 10; i++ {
		fmt.Fprintf(&s, "%s 0.%d %.3f", map[bool]string{true: ":", false: ","}[i == 1], i, b.Probability(float64(i)/10))
	}
	return s.String()
}

// A SignatureIndex finds, among stored MinHash signatures, those whose sets are similar to
// that of a query, under the caller's own ids (locality-sensitive hashing by bands, see
// [Banding]). Those that agree with it in a band are candidates. Of them, Search returns those
// that are matches by the estimate of their signatures; whoever has the texts or sets
// verifies the Candidates exactly.
//
// Unlike an [Index] it may miss something: Banding().Probability says how likely a
// similarity is to become a candidate, and the estimate has a standard error, see
// [Signature.Jaccard].
//
// NewSignatureIndex makes one in memory. OpenSignatureIndex makes one that is also in
// files, like those of [OpenIndex], and outlives the program.
//
// All methods may be called from several goroutines at once. Those that change the index
// take turns. Those that read never wait, and see the index as it was when they began.
// Now and then one addition among many builds a part of the index again. AddAll and Compact
// build the form that is searched fastest.
//
// A signature of 128 values and 32 bands takes 690 to 722 bytes, of which 512 are its values,
// with an id of 64 bits; see [SignatureIndexOptions.Bits] for less. While signatures are added one
// by one there is room of a kilobyte each for as many more as there are, up to 65,536; and
// when parts are built again they take twice the memory for a while. An index holds at most
// 2³⁰ signatures; more panic.
//
// Signatures of empty sets are stored, but similar to nothing.
type SignatureIndex[ID comparable] struct {
	persistent
	s          store.Store[ID, *minhash.Tables]
	layout     *minhash.Layout
	similarity float64
	adding     []uint64 // by the one who adds
}

// SignatureIndexOptions are the settings of a SignatureIndex. The zero value, or nil,
// means: all chosen by the index.
type SignatureIndexOptions struct {
	// Values is the length of the signatures; 0 means 128.
	Values int

	// Banding, if it is not zero, replaces NewBanding(Values, similarity, 0.1), which is
	// another one for another similarity.
	Banding Banding

	// Bits is how many bits of each value are kept: 1, 2, 4, 8, 16 or 32; 0 means 32. Fewer make
	// the index smaller and its estimates less exact, see [PackedSignature.Jaccard];
	// the candidates are the same, but for hashes of bands that are equal by chance, once in
	// 2³². With 128 values in 32 bands a signature takes 434 bytes with 8 bits, and 322 with 1.
	Bits int

	// Version says how the signatures are made ([MinHash.Version]). OpenSignatureIndex
	// needs it, and refuses files with another one, or with other options.
	Version string
}

// A Similar is a stored signature or vector that was compared with another.
type Similar[ID comparable] struct {
	ID         ID
	Similarity float64 // of a SignatureIndex the estimated Jaccard similarity, of vectors their cosine
}

// A SimilarPair is two signatures or vectors that were compared; A was added before B.
type SimilarPair[ID comparable] struct {
	A, B       ID
	Similarity float64 // of a SignatureIndex the estimated Jaccard similarity, of vectors their cosine
}

// NewSignatureIndex returns an empty index in memory for sets of at least a Jaccard
// similarity, more than 0 and at most 1. It is an error if that is something else, if the
// bands do not fit into the values, or if the number of values or bits is none there is.
func NewSignatureIndex[ID comparable](similarity float64, options *SignatureIndexOptions) (*SignatureIndex[ID], error) {
	ix, err := newSignatureIndex[ID](similarity, options)
	if err != nil {
		return nil, fmt.Errorf("neardup: NewSignatureIndex: %w", err)
	}
	return ix, nil
}

func newSignatureIndex[ID comparable](similarity float64, options *SignatureIndexOptions) (*SignatureIndex[ID], error) {
	var o SignatureIndexOptions
	if options != nil {
		o = *options
	}
	o.Values, o.Bits = cmp.Or(o.Values, minhash.DefaultValues), cmp.Or(o.Bits, 32)
	b := o.Banding
	switch err := (MinHash{Values: o.Values}).check(); {
	case err != nil:
		return nil, err
	case !(similarity > 0 && similarity <= 1):
		return nil, fmt.Errorf("similarity %g is not above 0 and at most 1", similarity)
	case o.Bits != 32 && !minhash.IsPacked(o.Bits):
		return nil, fmt.Errorf("%d bits of a value; 1, 2, 4, 8, 16 or 32 can be kept", o.Bits)
	case b == (Banding{}):
		b = NewBanding(o.Values, similarity, 0.1)
	case b.Bands < 1 || b.Rows < 1 || b.Bands > o.Values/b.Rows:
		return nil, fmt.Errorf("%d bands of %d rows of %d values", b.Bands, b.Rows, o.Values)
	}
	ix := &SignatureIndex[ID]{layout: minhash.NewLayout(o.Values, o.Bits, minhash.Banding(b)), similarity: similarity}
	l := ix.layout
	ix.persistent.files = &ix.s
	store.Init(&ix.s, store.Form[*minhash.Tables]{
		Kind: "signatures", Again: signAgain, Words: l.Words,
		TailSize: func(live int) int { return min(max(128, live), 1<<16, max(256, 1<<23/(l.Words+2*l.Bands))) },
		Build:    func(docs store.Column) *minhash.Tables { return minhash.NewTables(l, docs.Docs) },
		Tail:     func(size int) store.TailFinder { return minhash.NewTail(l, size) },
		Read:     func(f *format.Reader) *minhash.Tables { return minhash.ReadTables(f, l) },
	})
	return ix, nil
}

// OpenSignatureIndex opens an index that is in files, or makes an empty one. Files and ids
// are as with [OpenIndex]; the values, their bits and the bands must be the same as
// before. To have other bands, give All of the old index to AddAll of a new one.
func OpenSignatureIndex[ID comparable](path string, similarity float64, options *SignatureIndexOptions) (*SignatureIndex[ID], error) {
	ix, err := newSignatureIndex[ID](similarity, options)
	if err == nil {
		version := ""
		if options != nil && options.Version != "" {
			version = fmt.Sprintf("%s values=%d bits=%d bands=%dx%d", options.Version, ix.layout.Values, ix.layout.Bits, ix.layout.Bands, ix.layout.Rows)
		}
		err = ix.s.Open(path, version)
	}
	if err != nil {
		return nil, fmt.Errorf("neardup: OpenSignatureIndex: %w", err)
	}
	return ix, nil
}

// signAgain is what to do where signatures of another version, or other bands, are stored.
const signAgain = "sign the stored texts again, or give the bands of then as SignatureIndexOptions.Banding"

// Banding returns the bands by which the index searches.
func (ix *SignatureIndex[ID]) Banding() Banding { return Banding(ix.layout.Banding) }

// words returns the words of a signature, as long as the index is locked.
func (ix *SignatureIndex[ID]) words(s Signature) []uint64 {
	ix.adding = slices.Grow(ix.adding[:0], ix.layout.Words)[:ix.layout.Words]
	ix.layout.Pack(ix.adding, s)
	return ix.adding
}

// check panics if a signature has another length.
func (ix *SignatureIndex[ID]) check(s Signature) {
	if len(s) != ix.layout.Values {
		panic(fmt.Sprintf("neardup: a signature of %d values for a SignatureIndex of %d", len(s), ix.layout.Values))
	}
}

// Add stores a signature under an id. If the id is known, its signature is replaced, and
// counts as added now. After an error (see Err) it does nothing.
func (ix *SignatureIndex[ID]) Add(id ID, s Signature) {
	ix.check(s)
	ix.s.Mu.Lock()
	defer ix.s.Mu.Unlock()
	ix.s.Add(id, ix.words(s), ix.s.Clock())
}

// AddAll adds many signatures, as if one by one, but all of them are seen at once. It
// builds the index again with them, like Compact. An index that was opened has them on
// the disk then; after an error it is as it was. The sequence must not change the index.
func (ix *SignatureIndex[ID]) AddAll(signatures iter.Seq2[ID, Signature]) error {
	return ix.s.AddAll(func(docs *store.Documents[ID], seconds uint32) {
		for id, s := range signatures {
			ix.check(s)
			docs.Add(ix.words(s), id, seconds)
		}
	})
}

// All returns the ids and signatures in the order of adding; the signatures are nil if not
// all bits are kept.
func (ix *SignatureIndex[ID]) All() iter.Seq2[ID, Signature] {
	return func(yield func(ID, Signature) bool) {
		st := ix.s.State.Load()
		for d := range ix.s.Each(st, st.Runs) {
			if !yield(d.ID, ix.layout.Signature(d.Doc)) {
				return
			}
		}
	}
}

// DeleteFunc removes everything for which del returns true, and returns how much that
// was. added is when it was added, in whole seconds, by the clock of this machine, but never
// before what was added earlier. del must not change the index. It takes time for all that
// is stored.
func (ix *SignatureIndex[ID]) DeleteFunc(del func(id ID, added time.Time) bool) int {
	return ix.s.DeleteEach(func(d store.Entry[ID]) (bool, bool) {
		return del(d.ID, time.Unix(int64(d.Time), 0)), true
	})
}

// Candidates yields all signatures that agree with s in at least one band, each once, with
// their estimated similarities, in no particular order.
func (ix *SignatureIndex[ID]) Candidates(s Signature) iter.Seq[Similar[ID]] {
	return func(yield func(Similar[ID]) bool) { ix.candidates(s, math.Inf(-1), yield) }
}

// Search yields the Candidates of s whose estimated similarity is at least that of the
// index.
func (ix *SignatureIndex[ID]) Search(s Signature) iter.Seq[Similar[ID]] {
	return func(yield func(Similar[ID]) bool) { ix.candidates(s, ix.similarity, yield) }
}

// Exists reports whether Search finds anything. It stops at the first.
func (ix *SignatureIndex[ID]) Exists(s Signature) bool {
	for range ix.Search(s) {
		return true
	}
	return false
}

// candidates calls yield with every candidate of at least a similarity, until it returns
// false.
func (ix *SignatureIndex[ID]) candidates(s Signature, least float64, yield func(Similar[ID]) bool) {
	ix.check(s)
	v := ix.s.State.Load().View()
	defer runtime.KeepAlive(v.State)
	q := minhash.Queries.Get().(*minhash.Query)
	defer minhash.Queries.Put(q)
	q.Set(ix.layout, s)
	for _, r := range v.Runs {
		goOn := true
		err := r.Find.Search(q, func(ord uint32, doc []uint64) bool {
			if !v.Sees(r, ord) {
				return true
			}
			j := q.Jaccard(ix.layout, doc)
			if !(j >= least) {
				return true
			}
			id, err := r.IDs.At(ord)
			if err != nil {
				ix.s.Fail(err)
				goOn = false
			} else {
				goOn = yield(Similar[ID]{id, j})
			}
			return goOn
		})
		if err != nil {
			ix.s.Fail(err)
			return
		}
		if !goOn {
			return
		}
	}
	if v.Changes == 0 {
		return
	}
	t := v.Tail
	sees := func(i uint32) bool { return i < v.Changes && v.SeesTail(i) }
	t.Find.(*minhash.Tail).Search(q, t.Docs, sees, func(i uint32, doc []uint64) bool {
		j := q.Jaccard(ix.layout, doc)
		return !(j >= least) || yield(Similar[ID]{t.IDs[i], j})
	})
}

// SearchAndAdd is Search and Add in one: it returns what is known to be similar to s, and
// stores it. Of two that come at the same time one finds the other. What was stored under
// the id is replaced and not returned. The most similar come first, and else they are in no
// particular order.
func (ix *SignatureIndex[ID]) SearchAndAdd(id ID, s Signature) []Similar[ID] {
	ix.check(s)
	ix.s.Mu.Lock()
	defer ix.s.Mu.Unlock()
	var found []Similar[ID]
	for m := range ix.Search(s) {
		if m.ID != id {
			found = append(found, m)
		}
	}
	slices.SortStableFunc(found, func(a, b Similar[ID]) int { return cmp.Compare(b.Similarity, a.Similarity) })
	ix.s.Add(id, ix.words(s), ix.s.Clock())
	return found
}

// ExistsAndAdd is SearchAndAdd for those who only want to know whether anything similar is
// known. It stops at the first.
func (ix *SignatureIndex[ID]) ExistsAndAdd(id ID, s Signature) bool {
	ix.check(s)
	ix.s.Mu.Lock()
	defer ix.s.Mu.Unlock()
	exists := false
	for m := range ix.Search(s) {
		if m.ID != id {
			exists = true
			break
		}
	}
	ix.s.Add(id, ix.words(s), ix.s.Clock())
	return exists
}

// CandidatePairs yields every two stored signatures that agree in a band, each pair once,
// with their estimated similarity. The order is unspecified but depends on nothing but the
// calls made so far.
func (ix *SignatureIndex[ID]) CandidatePairs() iter.Seq[SimilarPair[ID]] {
	return func(yield func(SimilarPair[ID]) bool) { ix.pairs(math.Inf(-1), yield) }
}

// Pairs yields the CandidatePairs whose estimated similarity is at least that of the index.
func (ix *SignatureIndex[ID]) Pairs() iter.Seq[SimilarPair[ID]] {
	return func(yield func(SimilarPair[ID]) bool) { ix.pairs(ix.similarity, yield) }
}

// Groups returns the ids of the connected components of Pairs with two or more members.
// Members and groups are in the order of adding, so the first member, the one added
// first, is a stable representative. Equal signatures are taken together first, so a
// million of them cost no more than other input. Chains may join what is not similar
// itself.
func (ix *SignatureIndex[ID]) Groups() [][]ID {
	st := ix.s.State.Load()
	docs := ix.s.Documents(st, st.Runs, ix.Len())
	label := make([]int, len(docs.IDs)) // for each document the number of its signature
	number := make(map[string]int, len(docs.IDs))
	distinct := store.NewDocuments[int](docs.Words, 0) // the first with each
	for i := range docs.IDs {
		doc := docs.Doc(uint32(i))
		key := string(store.AsBytes(doc))
		n, there := number[key]
		if !there || ix.layout.IsEmpty(doc) {
			n = len(distinct.IDs)
			number[key] = n
			distinct.Add(doc, i, 0)
		}
		label[i] = n
	}
	t := minhash.NewTables(ix.layout, distinct.Docs)
	groups := graph.NewForest(t.N)
	t.Pairs(func(a, b uint32, band int) bool {
		if groups.Find(int(a)) != groups.Find(int(b)) {
			if docA, docB := t.Doc(a), t.Doc(b); t.Agree(docA, docB, band) && t.Jaccard(docA, docB) >= ix.similarity {
				groups.Join(int(a), int(b))
			}
		}
		return true
	})
	of := groups.Roots()
	for i, n := range label {
		label[i] = distinct.IDs[of[n]]
	}
	return idGroups(label, docs.IDs)
}

// pairs calls yield with every two signatures that agree in a band and are of at least a
// similarity, until it returns false.
func (ix *SignatureIndex[ID]) pairs(least float64, yield func(SimilarPair[ID]) bool) {
	st := ix.s.State.Load()
	defer runtime.KeepAlive(st)
	v := st.View()
	var t *minhash.Tables
	var ids store.IDColumn[ID]
	sees := func(uint32) bool { return true }
	if len(st.Runs) == 1 && v.Changes == 0 {
		r := st.Runs[0]
		if r.File != nil {
			if err := r.File.Verify(); err != nil {
				ix.s.Fail(err)
				return
			}
		}
		t, ids = r.Find, r.IDs
		sees = func(ord uint32) bool { return v.Sees(r, ord) }
	} else { // as one part
		before := ix.Err()
		docs := ix.s.Documents(st, st.Runs, ix.Len())
		if ix.Err() != nil && before == nil {
			return
		}
		t, ids = minhash.NewTables(ix.layout, docs.Docs), store.MemoryColumn[ID](docs.IDs)
	}
	err := t.Pairs(func(a, b uint32, band int) bool {
		docA, docB := t.Doc(a), t.Doc(b)
		if !sees(a) || !sees(b) || !t.IsFirst(docA, docB, band) {
			return true
		}
		j := t.Jaccard(docA, docB)
		if !(j >= least) {
			return true
		}
		idA, err := ids.At(a)
		if err == nil {
			var idB ID
			if idB, err = ids.At(b); err == nil {
				return yield(SimilarPair[ID]{idA, idB, j})
			}
		}
		ix.s.Fail(err)
		return false
	})
	if err != nil {
		ix.s.Fail(err)
	}
}

// Delete removes an id and reports whether it was there. After an error (see Err) it does
// nothing.
func (ix *SignatureIndex[ID]) Delete(id ID) bool { return ix.s.Delete(id) }
