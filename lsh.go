package neardup

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"runtime"
	"slices"
	"time"
)

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
	store[ID, *bandTables]
	layout     *layout
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
	o.Values, o.Bits = cmp.Or(o.Values, defaultValues), cmp.Or(o.Bits, 32)
	b := o.Banding
	switch err := (MinHash{Values: o.Values}).check(); {
	case err != nil:
		return nil, err
	case !(similarity > 0 && similarity <= 1):
		return nil, fmt.Errorf("similarity %g is not above 0 and at most 1", similarity)
	case o.Bits != 32 && !isPacked(o.Bits):
		return nil, fmt.Errorf("%d bits of a value; 1, 2, 4, 8, 16 or 32 can be kept", o.Bits)
	case b == (Banding{}):
		b = NewBanding(o.Values, similarity, 0.1)
	case b.Bands < 1 || b.Rows < 1 || b.Bands > o.Values/b.Rows:
		return nil, fmt.Errorf("%d bands of %d rows of %d values", b.Bands, b.Rows, o.Values)
	}
	ix := &SignatureIndex[ID]{layout: newLayout(o.Values, o.Bits, b), similarity: similarity}
	l := ix.layout
	newStore(&ix.store, form[*bandTables]{
		kind: "signatures", again: signAgain, words: l.words,
		tailSize: func(live int) int { return min(max(128, live), 1<<16, max(256, 1<<23/(l.words+2*l.Bands))) },
		build:    func(docs docColumn) *bandTables { return newBandTables(l, docs.docs) },
		tail:     func(size int) tailFinder { return newBandTail(l, size) },
		read:     func(f *fileReader) *bandTables { return f.bandTables(l) },
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
			version = fmt.Sprintf("%s values=%d bits=%d bands=%dx%d", options.Version, ix.layout.values, ix.layout.bits, ix.layout.Bands, ix.layout.Rows)
		}
		err = ix.open(path, version)
	}
	if err != nil {
		return nil, fmt.Errorf("neardup: OpenSignatureIndex: %w", err)
	}
	return ix, nil
}

// signAgain is what to do where signatures of another version, or other bands, are stored.
const signAgain = "sign the stored texts again, or give the bands of then as SignatureIndexOptions.Banding"

// Banding returns the bands by which the index searches.
func (ix *SignatureIndex[ID]) Banding() Banding { return ix.layout.Banding }

// words returns the words of a signature, as long as the index is locked.
func (ix *SignatureIndex[ID]) words(s Signature) []uint64 {
	ix.adding = slices.Grow(ix.adding[:0], ix.layout.words)[:ix.layout.words]
	ix.layout.pack(ix.adding, s)
	return ix.adding
}

// check panics if a signature has another length.
func (ix *SignatureIndex[ID]) check(s Signature) {
	if len(s) != ix.layout.values {
		panic(fmt.Sprintf("neardup: a signature of %d values for a SignatureIndex of %d", len(s), ix.layout.values))
	}
}

// Add stores a signature under an id. If the id is known, its signature is replaced, and
// counts as added now. After an error (see Err) it does nothing.
func (ix *SignatureIndex[ID]) Add(id ID, s Signature) {
	ix.check(s)
	ix.mu.Lock()
	defer ix.mu.Unlock()
	ix.add(id, ix.words(s), ix.clock())
}

// AddAll adds many signatures, as if one by one, but all of them are seen at once. It
// builds the index again with them, like Compact. An index that was opened has them on
// the disk then; after an error it is as it was. The sequence must not change the index.
func (ix *SignatureIndex[ID]) AddAll(signatures iter.Seq2[ID, Signature]) error {
	return ix.addAll(func(docs *documents[ID], seconds uint32) {
		for id, s := range signatures {
			ix.check(s)
			docs.add(ix.words(s), id, seconds)
		}
	})
}

// All returns the ids and signatures in the order of adding; the signatures are nil if not
// all bits are kept.
func (ix *SignatureIndex[ID]) All() iter.Seq2[ID, Signature] {
	return func(yield func(ID, Signature) bool) {
		st := ix.state.Load()
		for d := range ix.each(st, st.runs) {
			if !yield(d.id, ix.layout.signature(d.doc)) {
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
	return ix.deleteEach(func(d entry[ID]) (bool, bool) {
		return del(d.id, time.Unix(int64(d.time), 0)), true
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
	v := ix.state.Load().view()
	defer runtime.KeepAlive(v.state)
	q := bandQueries.Get().(*bandQuery)
	defer bandQueries.Put(q)
	q.set(ix.layout, s)
	for _, r := range v.runs {
		goOn := true
		err := r.find.search(q, func(ord uint32, doc []uint64) bool {
			if !v.sees(r, ord) {
				return true
			}
			j := q.jaccard(ix.layout, doc)
			if !(j >= least) {
				return true
			}
			id, err := r.ids.at(ord)
			if err != nil {
				ix.fail(err)
				goOn = false
			} else {
				goOn = yield(Similar[ID]{id, j})
			}
			return goOn
		})
		if err != nil {
			ix.fail(err)
			return
		}
		if !goOn {
			return
		}
	}
	if v.changes == 0 {
		return
	}
	t := v.tail
	sees := func(i uint32) bool { return i < v.changes && v.seesTail(i) }
	t.find.(*bandTail).search(q, t.docs, sees, func(i uint32, doc []uint64) bool {
		j := q.jaccard(ix.layout, doc)
		return !(j >= least) || yield(Similar[ID]{t.ids[i], j})
	})
}

// SearchAndAdd is Search and Add in one: it returns what is known to be similar to s, and
// stores it. Of two that come at the same time one finds the other. What was stored under
// the id is replaced and not returned. The most similar come first, and else they are in no
// particular order.
func (ix *SignatureIndex[ID]) SearchAndAdd(id ID, s Signature) []Similar[ID] {
	ix.check(s)
	ix.mu.Lock()
	defer ix.mu.Unlock()
	var found []Similar[ID]
	for m := range ix.Search(s) {
		if m.ID != id {
			found = append(found, m)
		}
	}
	slices.SortStableFunc(found, func(a, b Similar[ID]) int { return cmp.Compare(b.Similarity, a.Similarity) })
	ix.add(id, ix.words(s), ix.clock())
	return found
}

// ExistsAndAdd is SearchAndAdd for those who only want to know whether anything similar is
// known. It stops at the first.
func (ix *SignatureIndex[ID]) ExistsAndAdd(id ID, s Signature) bool {
	ix.check(s)
	ix.mu.Lock()
	defer ix.mu.Unlock()
	exists := false
	for m := range ix.Search(s) {
		if m.ID != id {
			exists = true
			break
		}
	}
	ix.add(id, ix.words(s), ix.clock())
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
	st := ix.state.Load()
	docs := ix.documents(st, st.runs, ix.Len())
	label := make([]int, len(docs.ids)) // for each document the number of its signature
	number := make(map[string]int, len(docs.ids))
	distinct := newDocuments[int](docs.words, 0) // the first with each
	for i := range docs.ids {
		doc := docs.doc(uint32(i))
		key := string(asBytes(doc))
		n, there := number[key]
		if !there || ix.layout.isEmpty(doc) {
			n = len(distinct.ids)
			number[key] = n
			distinct.add(doc, i, 0)
		}
		label[i] = n
	}
	t := newBandTables(ix.layout, distinct.docs)
	groups := newForest(t.n)
	t.pairs(func(a, b uint32, band int) bool {
		if groups.find(int(a)) != groups.find(int(b)) {
			if docA, docB := t.doc(a), t.doc(b); t.agree(docA, docB, band) && t.jaccard(docA, docB) >= ix.similarity {
				groups.join(int(a), int(b))
			}
		}
		return true
	})
	of := groups.roots()
	for i, n := range label {
		label[i] = distinct.ids[of[n]]
	}
	return idGroups(label, docs.ids)
}

// pairs calls yield with every two signatures that agree in a band and are of at least a
// similarity, until it returns false.
func (ix *SignatureIndex[ID]) pairs(least float64, yield func(SimilarPair[ID]) bool) {
	st := ix.state.Load()
	defer runtime.KeepAlive(st)
	v := st.view()
	var t *bandTables
	var ids idColumn[ID]
	sees := func(uint32) bool { return true }
	if len(st.runs) == 1 && v.changes == 0 {
		r := st.runs[0]
		if r.file != nil {
			if err := r.file.verify(); err != nil {
				ix.fail(err)
				return
			}
		}
		t, ids = r.find, r.ids
		sees = func(ord uint32) bool { return v.sees(r, ord) }
	} else { // as one part
		before := ix.Err()
		docs := ix.documents(st, st.runs, ix.Len())
		if ix.Err() != nil && before == nil {
			return
		}
		t, ids = newBandTables(ix.layout, docs.docs), memoryColumn[ID](docs.ids)
	}
	err := t.pairs(func(a, b uint32, band int) bool {
		docA, docB := t.doc(a), t.doc(b)
		if !sees(a) || !sees(b) || !t.isFirst(docA, docB, band) {
			return true
		}
		j := t.jaccard(docA, docB)
		if !(j >= least) {
			return true
		}
		idA, err := ids.at(a)
		if err == nil {
			var idB ID
			if idB, err = ids.at(b); err == nil {
				return yield(SimilarPair[ID]{idA, idB, j})
			}
		}
		ix.fail(err)
		return false
	})
	if err != nil {
		ix.fail(err)
	}
}
