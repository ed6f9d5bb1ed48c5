package neardup

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"runtime"
	"slices"
	"time"

	"github.com/neardup/neardup/internal/format"
	"github.com/neardup/neardup/internal/graph"
	"github.com/neardup/neardup/internal/minhash"
	"github.com/neardup/neardup/internal/store"
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
	persistent
	s          store.Store[ID, *minhash.Tables]
	layout     *minhash.Layout
	similarity float64
	adding     []uint64 // by the one who adds
}

// SignatureIndexOptions are the settings of a SignatureIndex. The zero value lets the index
// choose everything.
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

// A Candidate is a stored signature that agrees with a query in at least one band. It was not
// verified: Estimate is the Jaccard similarity as estimated from the two signatures.
type Candidate[ID comparable] struct {
	ID       ID
	Estimate float64
}

// NewSignatureIndex returns an empty index in memory for sets of at least a Jaccard
// similarity, more than 0 and at most 1. It is an error if that is something else, if the
// bands do not fit into the values, or if the number of values or bits is none there is.
func NewSignatureIndex[ID comparable](similarity float64, options SignatureIndexOptions) (*SignatureIndex[ID], error) {
	ix, err := newSignatureIndex[ID](similarity, options)
	if err != nil {
		return nil, fmt.Errorf("neardup: NewSignatureIndex: %w", err)
	}
	return ix, nil
}

func newSignatureIndex[ID comparable](similarity float64, options SignatureIndexOptions) (*SignatureIndex[ID], error) {
	o := options
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
	ix.persistent.store = &ix.s
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
func OpenSignatureIndex[ID comparable](path string, similarity float64, options SignatureIndexOptions) (*SignatureIndex[ID], error) {
	ix, err := newSignatureIndex[ID](similarity, options)
	if err == nil {
		version := ""
		if options.Version != "" {
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

// pack returns the words of a signature. The caller holds the lock.
func (ix *SignatureIndex[ID]) pack(s Signature) []uint64 {
	ix.adding = slices.Grow(ix.adding[:0], ix.layout.Words)[:ix.layout.Words]
	ix.layout.Pack(ix.adding, s)
	return ix.adding
}

// check returns an error if a signature has another length than those of the index.
func (ix *SignatureIndex[ID]) check(s Signature) error {
	ix.made()
	if len(s) != ix.layout.Values {
		return fmt.Errorf("neardup: a signature of %d values for a SignatureIndex of %d", len(s), ix.layout.Values)
	}
	return nil
}

// Add stores a signature under an id. If the id is known, its signature is replaced, and counts as
// added now. A signature of another length is an error. After an error of the index (see Err) Add
// stores nothing and returns that error.
func (ix *SignatureIndex[ID]) Add(id ID, s Signature) error {
	if err := ix.check(s); err != nil {
		return err
	}
	ix.s.Lock()
	defer ix.s.Unlock()
	return ix.s.Add(id, ix.pack(s))
}

// AddAll adds many signatures as if one by one, but readers see all of them at once. It rebuilds
// the index with them, like Compact. An opened index has them on the disk then. After an error,
// also that of the context, the index is as it was. The sequence must not change the index.
func (ix *SignatureIndex[ID]) AddAll(ctx context.Context, signatures iter.Seq2[ID, Signature]) error {
	return ix.s.AddAll(func(put func(ID, []uint64)) error {
		var wrong error
		err := collectAll(ctx, signatures, func(id ID, s Signature) {
			if err := ix.check(s); err != nil {
				wrong = err
				return
			}
			put(id, ix.pack(s))
		})
		return cmp.Or(wrong, err)
	})
}

// Get returns the signature that is stored under an id; it is nil if not all bits are kept.
func (ix *SignatureIndex[ID]) Get(id ID) (s Signature, ok bool, err error) {
	doc, ok, err := ix.s.Get(id)
	if ok {
		s = ix.layout.Signature(doc)
	}
	return s, ok, err
}

// All yields the ids and signatures in the order of adding. The signatures are nil if not all bits
// are kept. An error ends the loop: ask Err after it.
func (ix *SignatureIndex[ID]) All() iter.Seq2[ID, Signature] {
	return func(yield func(ID, Signature) bool) {
		for d := range ix.s.All() {
			if !yield(d.ID, ix.layout.Signature(d.Doc)) {
				return
			}
		}
	}
}

// Delete removes an id and reports whether it was there.
func (ix *SignatureIndex[ID]) Delete(id ID) (bool, error) { return ix.s.Delete(id) }

// DeleteFunc removes every document for which del returns true, and returns how many that was.
// added is when the document was added, in whole seconds by the clock of this machine, but never
// before what was added earlier. del must not change the index. It takes time for all that is
// stored.
func (ix *SignatureIndex[ID]) DeleteFunc(del func(id ID, added time.Time) bool) (int, error) {
	return ix.s.DeleteEach(func(d store.Entry[ID]) (bool, bool) {
		return del(d.ID, time.Unix(int64(d.Time), 0)), true
	})
}

// Candidates yields all signatures that agree with s in at least one band, each once, in no
// particular order. An error comes last, with an empty Candidate.
func (ix *SignatureIndex[ID]) Candidates(s Signature) iter.Seq2[Candidate[ID], error] {
	return func(yield func(Candidate[ID], error) bool) {
		err := ix.candidates(s, math.Inf(-1), func(id ID, j float64) bool {
			return yield(Candidate[ID]{ID: id, Estimate: j}, nil)
		})
		if err != nil {
			yield(Candidate[ID]{}, err)
		}
	}
}

// Search yields the candidates of s whose estimated similarity is at least that of the index, in no
// particular order. An error comes last, with an empty Match.
func (ix *SignatureIndex[ID]) Search(s Signature) iter.Seq2[Match[ID], error] {
	return func(yield func(Match[ID], error) bool) {
		err := ix.candidates(s, ix.similarity, func(id ID, j float64) bool {
			return yield(Match[ID]{ID: id, Similarity: j}, nil)
		})
		if err != nil {
			yield(Match[ID]{}, err)
		}
	}
}

// Exists reports whether Search finds anything. It stops at the first.
func (ix *SignatureIndex[ID]) Exists(s Signature) (bool, error) {
	for _, err := range ix.Search(s) {
		return err == nil, err
	}
	return false, nil
}

// candidates calls yield with every candidate of at least a similarity, until it returns
// false. It returns the error of the index, if nobody stopped it.
func (ix *SignatureIndex[ID]) candidates(s Signature, least float64, yield func(id ID, estimate float64) bool) error {
	if err := ix.check(s); err != nil {
		return err
	}
	v := ix.s.View()
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
				goOn = yield(id, j)
			}
			return goOn
		})
		if err != nil {
			ix.s.Fail(err)
			return ix.Err()
		}
		if !goOn {
			return nil
		}
	}
	if v.Changes == 0 {
		return ix.Err()
	}
	t := v.Tail
	sees := func(i uint32) bool { return i < v.Changes && v.SeesTail(i) }
	stopped := false
	t.Find.(*minhash.Tail).Search(q, t.Docs, sees, func(i uint32, doc []uint64) bool {
		j := q.Jaccard(ix.layout, doc)
		stopped = j >= least && !yield(t.IDs[i], j)
		return !stopped
	})
	if stopped {
		return nil
	}
	return ix.Err()
}

// SearchAndAdd is Search and Add in one: it returns the stored signatures that are similar to s, and
// stores s. Of two calls at the same time, one finds the other's signature. What was stored under
// the id is replaced and not returned. The most similar come first, and equally similar ones in no
// particular order. After an error s is not stored.
func (ix *SignatureIndex[ID]) SearchAndAdd(id ID, s Signature) ([]Match[ID], error) {
	if err := ix.check(s); err != nil {
		return nil, err
	}
	ix.s.Lock()
	defer ix.s.Unlock()
	var found []Match[ID]
	for m, err := range ix.Search(s) {
		if err == nil && m.ID != id {
			found = append(found, m)
		}
	}
	slices.SortStableFunc(found, func(a, b Match[ID]) int { return cmp.Compare(b.Similarity, a.Similarity) })
	return found, ix.s.Add(id, ix.pack(s))
}

// ExistsAndAdd is SearchAndAdd for callers who only want to know whether anything similar is
// stored. It stops at the first.
func (ix *SignatureIndex[ID]) ExistsAndAdd(id ID, s Signature) (bool, error) {
	if err := ix.check(s); err != nil {
		return false, err
	}
	ix.s.Lock()
	defer ix.s.Unlock()
	exists := false
	for m, err := range ix.Search(s) {
		if err == nil && m.ID != id {
			exists = true
			break
		}
	}
	return exists, ix.s.Add(id, ix.pack(s))
}

// CandidatePairs yields every two stored signatures that agree in a band, each pair once, with their
// estimated similarity. The order is unspecified but depends only on the calls made so far. An error
// of the index or of the context comes last, with an empty Pair.
func (ix *SignatureIndex[ID]) CandidatePairs(ctx context.Context) iter.Seq2[Pair[ID], error] {
	return ix.pairSeq(ctx, math.Inf(-1))
}

// Pairs yields the pairs of CandidatePairs whose estimated similarity is at least that of the index.
func (ix *SignatureIndex[ID]) Pairs(ctx context.Context) iter.Seq2[Pair[ID], error] {
	return ix.pairSeq(ctx, ix.similarity)
}

func (ix *SignatureIndex[ID]) pairSeq(ctx context.Context, least float64) iter.Seq2[Pair[ID], error] {
	return func(yield func(Pair[ID], error) bool) {
		if err := ix.pairs(ctx, least, func(p Pair[ID]) bool { return yield(p, nil) }); err != nil {
			yield(Pair[ID]{}, err)
		}
	}
}

// Groups returns the ids of the connected components of Pairs with two or more members.
// Members and groups are in the order of adding, so the first member, the one added
// first, is a stable representative. Equal signatures are taken together first, so a
// million of them cost no more than other input. Chains may join what is not similar
// itself.
func (ix *SignatureIndex[ID]) Groups(ctx context.Context) ([][]ID, error) {
	docs, err := ix.s.Collect()
	if err != nil {
		return nil, err
	}
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
	err = t.Components(groups, ix.similarity, ctx.Err)
	if err != nil {
		return nil, err
	}
	of := groups.Roots()
	for i, n := range label {
		label[i] = distinct.IDs[of[n]]
	}
	return idGroups(label, docs.IDs), nil
}

// pairs calls yield with every two signatures that agree in a band and are of at least a
// similarity, until it returns false.
func (ix *SignatureIndex[ID]) pairs(ctx context.Context, least float64, yield func(Pair[ID]) bool) error {
	v := ix.s.View()
	defer runtime.KeepAlive(v.State)
	var t *minhash.Tables
	var ids store.IDColumn[ID]
	sees := func(uint32) bool { return true }
	if len(v.Runs) == 1 && v.Changes == 0 {
		r := v.Runs[0]
		if r.File != nil {
			if err := r.File.Verify(); err != nil {
				ix.s.Fail(err)
				return ix.Err()
			}
		}
		t, ids = r.Find, r.IDs
		sees = func(ord uint32) bool { return v.Sees(r, ord) }
	} else { // as one part
		docs, err := ix.s.Collect()
		if err != nil {
			return err
		}
		t, ids = minhash.NewTables(ix.layout, docs.Docs), store.MemoryColumn[ID](docs.IDs)
	}
	stopped, looked := false, 0
	err := t.Pairs(func(a, b uint32, band int) bool {
		if looked++; looked%(1<<16) == 0 && ctx.Err() != nil {
			return false
		}
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
				stopped = !yield(Pair[ID]{A: idA, B: idB, Similarity: j})
				return !stopped
			}
		}
		ix.s.Fail(err)
		return false
	})
	if err != nil {
		ix.s.Fail(err)
	}
	if stopped {
		return nil
	}
	return cmp.Or(ctx.Err(), ix.Err())
}
