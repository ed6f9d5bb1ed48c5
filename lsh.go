package neardup

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"runtime"
	"slices"
	"strings"

	"github.com/neardup/neardup/internal/exact"
	"github.com/neardup/neardup/internal/format"
	"github.com/neardup/neardup/internal/minhash"
	"github.com/neardup/neardup/internal/store"
)

// This file is the public face of the signature index: locality-sensitive hashing of MinHash
// signatures by bands. internal/minhash chooses the bands and has their tables, and internal/store keeps the
// documents in immutable runs and a tail, as for [Index].

// A SignatureIndex finds, among stored MinHash signatures, those whose sets are similar to the set
// of a query, under the caller's own ids. It uses locality-sensitive hashing by bands (see
// [Banding]). A stored signature that agrees with the query in a band is a candidate. Search
// returns the candidates whose estimated similarity reaches that of the index. Callers who have the
// texts or sets can verify the Candidates exactly instead.
//
// Unlike an [Index], it may miss something. Banding().Probability tells how likely a pair of a
// given similarity is to become a candidate, and the estimate has a standard error: see
// [Signature.Jaccard].
//
// [NewSignatureIndex] makes an index in memory. [OpenSignatureIndex] makes one that is also in
// files, as [OpenIndex] does, and outlives the program. The zero value is not usable: its methods
// panic.
//
// All methods may be called from several goroutines at once. Methods that change the index take
// turns. Methods that read never wait, and see the index as it was when they began; the body of a
// loop may change the index. Now and then an addition builds a part of the index, which takes some
// tens of milliseconds. Larger parts are built by a goroutine that ends by itself. AddAll and
// Compact build the form that is searched fastest.
//
// With 128 values, 32 bands and an id of 64 bits, a signature takes 690 to 722 bytes, 512 of them
// for its values; [SignatureIndexOptions].Bits makes it smaller. While signatures are added one by one,
// the index reserves memory for as many more as it holds (at most 65,536, a kilobyte each). While parts
// are rebuilt it takes twice the memory. An index holds at most 2³⁰ signatures; adding more is an
// error.
//
// Signatures of empty sets are stored, but are similar to nothing, not even to each other.
type SignatureIndex[ID comparable] struct {
	persistent
	s          store.Store[ID, *minhash.Tables]
	layout     *minhash.Layout
	similarity float64  // the smallest estimate of a match
	adding     []uint64 // buffer of the goroutine that holds the lock
}

// SignatureIndexOptions are the settings of a [SignatureIndex]. The zero value lets the index
// choose everything.
type SignatureIndexOptions struct {
	// Values is the length of the signatures, 16 to 4096; 0 means 128. It must be that of the
	// [MinHash].
	Values int

	// Banding, if not zero, replaces the best one for the similarity. Bands × Rows must be at most
	// Values. To open files with another similarity, give the banding that they have.
	Banding Banding

	// Bits is how many bits of each value are kept: 1, 2, 4, 8, 16 or 32; 0 means 32. Fewer bits
	// make the index smaller and its estimates less exact (see [PackedSignature.Jaccard]). The
	// candidates are the same, except that the hashes of two bands are equal by chance once in 2³².
	// With 128 values in 32 bands a signature takes 434 bytes with 8 bits, and 322 with 1.
	Bits int

	// Version says how the signatures are made ([MinHash.Version]). OpenSignatureIndex requires it,
	// and refuses files with another one, or with other Values, Bits or bands. NewSignatureIndex
	// does not use it.
	Version string
}

// NewSignatureIndex returns an empty index in memory for sets with a Jaccard similarity of at least similarity, above 0 and at most
// 1. Of the pairs right at the threshold, 4 to 16 % are not candidates (for similarities of 0.3 to 0.9; see [SignatureIndex.Banding]), and
// half of the others are estimated below it. To miss none, pass a similarity that is 0.2 lower, and compare the sets of CandidatePairs.
// It returns an error for any other similarity, for numbers of values or bits that the options do not allow, and for a Banding that
// does not fit into the values.
func NewSignatureIndex[ID comparable](similarity float64, options SignatureIndexOptions) (*SignatureIndex[ID], error) {
	ix, err := newSignatureIndex[ID](similarity, options)
	if err != nil {
		return nil, fmt.Errorf("neardup: NewSignatureIndex: %w", err)
	}
	return ix, nil
}

// newSignatureIndex returns an index without files. Its errors have no prefix.
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
		return nil, fmt.Errorf("%d bits per value; must be 1, 2, 4, 8, 16 or 32", o.Bits)
	case b == (Banding{}):
		b = MinHash{Values: o.Values}.Banding(similarity)
	case b.Bands < 1 || b.Rows < 1 || b.Bands > o.Values/b.Rows:
		return nil, fmt.Errorf("a Banding of %d bands of %d rows does not fit into %d values", b.Bands, b.Rows, o.Values)
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

// OpenSignatureIndex opens an index in files, or makes an empty one. Files, ids and errors are as with [OpenIndex], but the values,
// their bits and the bands, which follow from the similarity unless the options give them, must be the same as before; otherwise the
// error is an [ErrVersion]. To change the bands, give All of the old index to AddAll of a new one.
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

// signAgain is what the error advises when files have signatures of another version or other bands.
const signAgain = "sign the stored texts again, or give the original bands as SignatureIndexOptions.Banding"

// Similarity returns the similarity that the index was made for.
func (ix *SignatureIndex[ID]) Similarity() float64 { return ix.similarity }

// Banding returns the bands by which the index finds candidates.
func (ix *SignatureIndex[ID]) Banding() Banding { return Banding(ix.layout.Banding) }

// pack returns the words of a signature, in the buffer of the index. The caller holds the lock.
func (ix *SignatureIndex[ID]) pack(s Signature) []uint64 {
	ix.adding = slices.Grow(ix.adding[:0], ix.layout.Words)[:ix.layout.Words]
	ix.layout.Pack(ix.adding, s)
	return ix.adding
}

// check returns an error if a signature does not have the length of those in the index.
func (ix *SignatureIndex[ID]) check(s Signature) error {
	ix.made()
	if len(s) != ix.layout.Values {
		return fmt.Errorf("neardup: a signature of %d values for a SignatureIndex of %d", len(s), ix.layout.Values)
	}
	return nil
}

// Add stores a signature under an id. If the id exists, its signature is replaced and counts as
// added now. It returns an error for a signature of another length than Values. If the index has an
// error (see [OpenIndex]), Add stores nothing and returns it. The index does not keep s.
func (ix *SignatureIndex[ID]) Add(id ID, s Signature) error {
	if err := ix.check(s); err != nil {
		return err
	}
	ix.s.Lock()
	defer ix.s.Unlock()
	return ix.s.Add(id, ix.pack(s))
}

// AddAll adds many signatures as if by calling Add for each, except that readers see all of them at
// once. It rebuilds the whole index with them, like Compact. In an index with files, they are on
// the disk when AddAll returns nil. After any error, including that of the context, the index is as it
// was. The sequence must not change the index: that would deadlock.
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

// Get returns the signature that is stored under an id, and whether there is one. The signature is
// nil if Bits is below 32; otherwise it is a copy.
func (ix *SignatureIndex[ID]) Get(id ID) (s Signature, ok bool, err error) {
	e, ok, err := ix.s.Get(id)
	if ok {
		s = ix.layout.Signature(e.Doc)
	}
	return s, ok, err
}

// All yields the documents in the order of adding, as they were when the loop began. Their signatures
// are nil if Bits is below 32; otherwise they are copies. An error of the index comes last, with an
// empty Entry.
func (ix *SignatureIndex[ID]) All() iter.Seq2[Entry[ID, Signature], error] {
	return entries(ix.s.All(), func(doc []uint64) Signature { return ix.layout.Signature(doc) }, ix.err)
}

// Delete removes the document with an id and reports whether it was there. If the index has an
// error (see [OpenIndex]), Delete removes nothing and returns it.
func (ix *SignatureIndex[ID]) Delete(id ID) (bool, error) { return ix.s.Delete(id) }

// DeleteFunc removes every document for which del returns true, and returns how many that was. The
// entry has no signature: Get returns it, but del must not use the index. DeleteFunc visits every
// stored document.
func (ix *SignatureIndex[ID]) DeleteFunc(del func(Entry[ID, Signature]) bool) (int, error) {
	return ix.s.DeleteEach(deleteRule(del, func([]uint64) (s Signature) { return s }))
}

// Candidates yields all signatures that agree with s in at least one band, each once, in no
// particular order. Nothing was verified: Similarity is the Jaccard similarity as estimated from
// the two signatures, and with Bits below 32 it may be a little below 0. An error comes last, with
// an empty Match: that of the index or of the context, or one for an s of another length than the signatures
// of the index.
func (ix *SignatureIndex[ID]) Candidates(ctx context.Context, s Signature) iter.Seq2[Match[ID], error] {
	return ix.atLeast(ctx, s, math.Inf(-1))
}

// Search yields the candidates of s whose estimated similarity is at least that of the index, in no
// particular order. An error comes last, with an empty Match, as with Candidates.
func (ix *SignatureIndex[ID]) Search(ctx context.Context, s Signature) iter.Seq2[Match[ID], error] {
	return ix.atLeast(ctx, s, ix.similarity)
}

// atLeast yields the candidates of s whose estimated similarity is at least least, and an error last.
func (ix *SignatureIndex[ID]) atLeast(ctx context.Context, s Signature, least float64) iter.Seq2[Match[ID], error] {
	return func(yield func(Match[ID], error) bool) {
		goesOn := true
		err := ix.candidates(ctx, s, least, func(m Match[ID], _ uint64) bool { goesOn = yield(m, nil); return goesOn })
		if err != nil && goesOn {
			yield(Match[ID]{}, err)
		}
	}
}

// Exists reports whether Search finds anything. It stops at the first match.
func (ix *SignatureIndex[ID]) Exists(ctx context.Context, s Signature) (bool, error) {
	for _, err := range ix.Search(ctx, s) {
		err = cmp.Or(err, ix.err())
		return err == nil, err
	}
	return false, nil
}

// Nearest returns the n candidates of s with the highest estimated similarity, whatever that is: the
// highest first, and equal ones in the order of adding. n ≤ 0 gives none. The less similar a set, the
// less often it is a candidate, so in a collection without anything similar there may be fewer than n
// ([Banding.Probability]). An error is that of Candidates.
func (ix *SignatureIndex[ID]) Nearest(ctx context.Context, s Signature, n int) ([]Match[ID], error) {
	near, err := ix.sorted(ctx, s, math.Inf(-1), nil)
	return near[:max(min(n, len(near)), 0)], err
}

// sorted returns the candidates whose estimate is at least least in the order of found.compare, except
// the document with the id *without, if without is not nil.
func (ix *SignatureIndex[ID]) sorted(ctx context.Context, s Signature, least float64, without *ID) ([]Match[ID], error) {
	var all []found[ID]
	err := ix.candidates(ctx, s, least, func(m Match[ID], place uint64) bool {
		if without == nil || m.ID != *without {
			all = append(all, found[ID]{m, place})
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, found[ID].compare)
	return matchesOf(all), nil
}

// candidates calls yield with every candidate whose estimate is at least least, and with its place in the
// order of adding, until yield returns false. It returns the error of the index or of the context, unless yield stopped it.
func (ix *SignatureIndex[ID]) candidates(ctx context.Context, s Signature, least float64, yield func(m Match[ID], place uint64) bool) error {
	if err := ix.check(s); err != nil {
		return err
	}
	w := watch{ctx: ctx}
	if w.ended() {
		return w.err
	}
	v := ix.s.View()
	defer runtime.KeepAlive(v.State)
	q := minhash.Queries.Get().(*minhash.Query)
	defer minhash.Queries.Put(q)
	q.Set(ix.layout, s)
	for i, r := range v.Runs {
		goOn := true
		err := r.Find.Search(q, func(ord uint32, doc []uint64) bool {
			if goOn = !w.ended(); !goOn || !v.Sees(r, ord) {
				return goOn
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
				goOn = yield(Match[ID]{ID: id, Similarity: j}, placeOf(i, ord))
			}
			return goOn
		})
		if err != nil {
			ix.s.Fail(err)
			return ix.err()
		}
		if !goOn {
			return cmp.Or(w.err, ix.err())
		}
	}
	if v.Changes == 0 {
		return ix.err()
	}
	// The tail has tables of bands too, so the last changes are not compared one by one.
	t := v.Tail
	sees := func(i uint32) bool { return i < v.Changes && v.SeesTail(i) }
	stopped := false
	t.Find.(*minhash.Tail).Search(q, t.Docs, sees, func(i uint32, doc []uint64) bool {
		j := q.Jaccard(ix.layout, doc)
		stopped = j >= least && !yield(Match[ID]{ID: t.IDs[i], Similarity: j}, placeOf(len(v.Runs), i))
		return !stopped
	})
	if stopped {
		return nil
	}
	return ix.err()
}

// SearchAndAdd is Search and Add in one step: it returns the stored signatures that are similar to
// s, and stores s. Of two calls at the same time, one finds the other's signature. A signature that
// had the same id is replaced and not returned. The most similar come first, and equally similar
// ones in the order of adding. After an error s is not stored.
func (ix *SignatureIndex[ID]) SearchAndAdd(ctx context.Context, id ID, s Signature) ([]Match[ID], error) {
	if err := ix.check(s); err != nil {
		return nil, err
	}
	ix.s.Lock()
	defer ix.s.Unlock()
	found, err := ix.sorted(ctx, s, ix.similarity, &id)
	if err != nil {
		return nil, err
	}
	return found, ix.s.Add(id, ix.pack(s))
}

// ExistsAndAdd is SearchAndAdd for callers who only want to know whether anything similar is
// stored. It stops searching at the first match.
func (ix *SignatureIndex[ID]) ExistsAndAdd(ctx context.Context, id ID, s Signature) (bool, error) {
	if err := ix.check(s); err != nil {
		return false, err
	}
	ix.s.Lock()
	defer ix.s.Unlock()
	exists, err := existsBut(ix.Search(ctx, s), id)
	if err != nil {
		return false, err
	}
	return exists, ix.s.Add(id, ix.pack(s))
}

// CandidatePairs yields every two stored signatures that agree in a band, each pair once, with
// their estimated similarity. A was added before B. Nothing is verified. The order is unspecified
// but depends only on the calls made so far. An error of the index or of the context comes last,
// with an empty Pair.
//
// m signatures that share a band make m(m−1)/2 pairs. It uses all processors. It copies all
// signatures, unless the index is as Compact or AddAll left it.
func (ix *SignatureIndex[ID]) CandidatePairs(ctx context.Context) iter.Seq2[Pair[ID], error] {
	return ix.pairSeq(ctx, math.Inf(-1))
}

// Pairs yields the pairs of CandidatePairs whose estimated similarity is at least that of the
// index.
func (ix *SignatureIndex[ID]) Pairs(ctx context.Context) iter.Seq2[Pair[ID], error] {
	return ix.pairSeq(ctx, ix.similarity)
}

// pairSeq turns pairs into a sequence, with the error last.
func (ix *SignatureIndex[ID]) pairSeq(ctx context.Context, least float64) iter.Seq2[Pair[ID], error] {
	return func(yield func(Pair[ID], error) bool) {
		if err := ix.pairs(ctx, least, func(p Pair[ID]) bool { return yield(p, nil) }); err != nil {
			yield(Pair[ID]{}, err)
		}
	}
}

// Groups groups the stored signatures by Pairs: every group of two or more, in the order of adding of
// their first members. [GroupPairs] says what the linkages mean, and what they cost; with [SingleLinkage], a
// million equal signatures cost no more than others. Of equally good ones, the document that was added
// first is kept. Signatures of empty sets are in no group. It copies all signatures, unless the index
// is as Compact or AddAll left it.
func (ix *SignatureIndex[ID]) Groups(ctx context.Context, by Linkage) ([]Group[ID], error) {
	v := ix.s.View()
	defer runtime.KeepAlive(v.State)
	t, ids, sees, err := ix.whole(v)
	if err != nil {
		return nil, err
	}
	for ord := range uint32(t.N) {
		if !sees(ord) { // deleted ones would be compared again and again
			docs, err := ix.s.Collect()
			if err != nil {
				return nil, err
			}
			t, ids = minhash.NewTables(ix.layout, docs.Docs), store.MemoryColumn[ID](docs.IDs)
			break
		}
	}
	var keep []int
	if by == SingleLinkage {
		keep, err = t.Components(func(a, b uint32) bool { return t.IsAtLeast(t.Doc(a), t.Doc(b), ix.similarity) }, ctx.Err)
	} else {
		keep, err = GroupPairs(t.N, similarSignatures(ctx, t, ix.similarity), by, nil)
	}
	if err != nil {
		return nil, err
	}
	groups, err := makeGroups(keep, ids.At, func(n, keep int) Match[ID] {
		return Match[ID]{Similarity: ix.layout.Jaccard(t.Doc(uint32(n)), t.Doc(uint32(keep)))}
	})
	if err != nil {
		ix.s.Fail(err)
		return nil, ix.err()
	}
	return groups, nil
}

// similarSignatures yields the pairs of tables of which nothing was deleted, by position.
func similarSignatures(ctx context.Context, t *minhash.Tables, least float64) iter.Seq2[Pair[int], error] {
	return func(yield func(Pair[int], error) bool) {
		stopped := false
		err := t.Similar(least, func(uint32) bool { return true }, func() bool { return ctx.Err() != nil }, func(p minhash.Similar) bool {
			stopped = !yield(Pair[int]{A: int(p.A), B: int(p.B), Similarity: p.Jaccard}, nil)
			return !stopped
		})
		if err = cmp.Or(ctx.Err(), err); err != nil && !stopped {
			yield(Pair[int]{}, err)
		}
	}
}

// pairs calls yield with every two signatures that agree in a band and whose estimate is at least
// least, until yield returns false. It returns the error of the index or of the context.
func (ix *SignatureIndex[ID]) pairs(ctx context.Context, least float64, yield func(Pair[ID]) bool) error {
	v := ix.s.View()
	defer runtime.KeepAlive(v.State)
	t, ids, sees, err := ix.whole(v)
	if err != nil {
		return err
	}
	stopped := false
	err = t.Similar(least, sees, func() bool { return ctx.Err() != nil }, func(p minhash.Similar) bool {
		idA, errA := ids.At(p.A)
		idB, errB := ids.At(p.B)
		if err := cmp.Or(errA, errB); err != nil {
			ix.s.Fail(err)
			return false
		}
		stopped = !yield(Pair[ID]{A: idA, B: idB, Similarity: p.Jaccard})
		return !stopped
	})
	if err != nil {
		ix.s.Fail(err)
	}
	if stopped {
		return nil
	}
	return cmp.Or(ctx.Err(), ix.err())
}

// whole returns tables of all documents of a view, with their ids. The tables may also have documents
// that were deleted: those for which sees returns false.
func (ix *SignatureIndex[ID]) whole(v store.View[ID, *minhash.Tables]) (t *minhash.Tables, ids store.IDColumn[ID], sees func(ord uint32) bool, err error) {
	if len(v.Runs) != 1 || v.Changes != 0 { // several parts: build tables of all
		docs, err := ix.s.Collect()
		if err != nil {
			return nil, nil, nil, err
		}
		return minhash.NewTables(ix.layout, docs.Docs), store.MemoryColumn[ID](docs.IDs), func(uint32) bool { return true }, nil
	}
	r := v.Runs[0]
	// The tables are read from end to end, without checks on the way. So all of the file is checked
	// first.
	if r.File != nil {
		if err := r.File.Verify(); err != nil {
			ix.s.Fail(err)
			return nil, nil, nil, ix.err()
		}
	}
	return r.Find, r.IDs, func(ord uint32) bool { return v.Sees(r, ord) }, nil
}

// A Banding cuts signatures into Bands bands of Rows values each. Two signatures are candidates if
// they agree on all values of at least one band. For sets with the Jaccard similarity s, that has
// the probability 1 − (1 − s^Rows)^Bands: an S-curve that is steep near (1/Bands)^(1/Rows) (Broder
// 1997; Leskovec et al., Mining of Massive Datasets, §3.4). More bands find more pairs; more rows give
// fewer false candidates.
type Banding struct{ Bands, Rows int }

// Probability returns how likely two sets with a Jaccard similarity, 0 to 1, are to become candidates. It does not account
// for different values that are equal by chance. It is the same on every platform.
func (b Banding) Probability(similarity float64) float64 {
	if !(similarity >= 0 && similarity <= 1) {
		panic(fmt.Sprintf("neardup: a similarity of %v is not from 0 to 1", similarity))
	}
	return 1 - exact.Power(1-exact.Power(similarity, b.Rows), b.Bands)
}

// String returns the banding and its S-curve, as similarities and probabilities:
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
