package neardup

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"runtime"
	"slices"

	"github.com/neardup/neardup/internal/cosine"
	"github.com/neardup/neardup/internal/store"
)

// This file is the public face of the cosine index. internal/cosine has the inverted index and its
// bounds, and internal/store keeps the vectors in immutable runs and a tail, as for [Index].

// A VectorIndex finds, among stored vectors, those that have the largest cosine with a query, under
// the caller's own ids. It is exact: it finds what comparing all vectors by [Vector.Cosine] would.
// But it reads only few of the lists of its inverted index; the package internal/cosine explains
// why that is enough.
//
// [NewVectorIndex] makes an index in memory. [OpenVectorIndex] makes one that is also in files, as
// [OpenIndex] does, and outlives the program. The zero value is not usable: its methods panic.
//
// All methods may be called from several goroutines at once. Methods that change the index take
// turns. Methods that read never wait, and see the index as it was when they began; the body of a
// loop may change the index. Vectors are stored in immutable parts. Parts are merged so that each is
// about eight times as large as the next; large ones are merged by a goroutine that ends by itself.
// The last few hundred changes are in no part and are compared one by one. AddAll and Compact build a
// single part, which is searched fastest.
//
// A term takes 20 bytes, and the first one with a feature 16 more. An index holds at most 2³⁰
// vectors; adding more is an error. A part holds at most 2³² − 1 terms; more cause a panic. Vectors
// without terms are stored, but are similar to nothing.
type VectorIndex[ID comparable] struct {
	persistent
	s          store.Store[ID, *cosine.Tables]
	similarity float64  // the smallest cosine of a match
	adding     []uint64 // buffer of the goroutine that holds the lock
}

// VectorIndexOptions are the settings of a [VectorIndex]. The zero value is all that an index in
// memory needs.
type VectorIndexOptions struct {
	// Version says how the vectors are made ([Fingerprinter.Version]). OpenVectorIndex requires it
	// and refuses files with another one. NewVectorIndex does not use it.
	Version string
}

// NewVectorIndex returns an empty index in memory, which searches for vectors with a cosine of at
// least similarity, above 0 and at most 1. Any other similarity is an error.
func NewVectorIndex[ID comparable](similarity float64, options VectorIndexOptions) (*VectorIndex[ID], error) {
	ix, err := newVectorIndex[ID](similarity)
	if err != nil {
		return nil, fmt.Errorf("neardup: NewVectorIndex: %w", err)
	}
	return ix, nil
}

// newVectorIndex returns an index without files. Its errors have no prefix.
func newVectorIndex[ID comparable](similarity float64) (*VectorIndex[ID], error) {
	if !(similarity > 0 && similarity <= 1) {
		return nil, fmt.Errorf("similarity %g is not above 0 and at most 1", similarity)
	}
	ix := &VectorIndex[ID]{similarity: similarity}
	ix.persistent.store = &ix.s
	store.Init(&ix.s, store.Form[*cosine.Tables]{
		Kind: "vectors", Again: "make the vectors again",
		TailSize: func(live int) int { return min(max(64, live), 256) },
		Build:    cosine.NewTables,
		Read:     cosine.ReadTables,
		Check:    cosine.CheckVector,
	})
	return ix, nil
}

// OpenVectorIndex opens an index in files, or makes an empty one. Files, ids and errors are as with
// [OpenIndex], but a snapshot is read as a whole, and much of it stays in memory. The similarity
// may differ from the one before.
func OpenVectorIndex[ID comparable](path string, similarity float64, options VectorIndexOptions) (*VectorIndex[ID], error) {
	ix, err := newVectorIndex[ID](similarity)
	if err == nil {
		err = ix.s.Open(path, options.Version)
	}
	if err != nil {
		return nil, fmt.Errorf("neardup: OpenVectorIndex: %w", err)
	}
	return ix, nil
}

// add is Add for a caller that holds the lock.
func (ix *VectorIndex[ID]) add(id ID, v Vector) error {
	if err := v.check(); err != nil {
		return err
	}
	ix.adding = cosine.AppendVector(ix.adding[:0], asTerms(v))
	return ix.s.Add(id, ix.adding)
}

// Add stores a copy of a vector under an id. If the id exists, its vector is replaced and counts as
// added now. It returns an error for a vector that is not valid (see [Vector]). If the index has an
// error (see [OpenIndex]), Add stores nothing and returns it.
func (ix *VectorIndex[ID]) Add(id ID, v Vector) error {
	ix.s.Lock()
	defer ix.s.Unlock()
	return ix.add(id, v)
}

// AddAll adds many vectors as if by calling Add for each, except that readers see all of them at
// once. It rebuilds the whole index with them, like Compact. In an index with files, they are on
// the disk when AddAll returns nil. After any error, including that of the context, the index is as it
// was. The sequence must not change the index: that would deadlock.
func (ix *VectorIndex[ID]) AddAll(ctx context.Context, vectors iter.Seq2[ID, Vector]) error {
	return ix.s.AddAll(func(put func(ID, []uint64)) error {
		var wrong error
		err := collectAll(ctx, vectors, func(id ID, v Vector) {
			if err := v.check(); err != nil {
				wrong = err
				return
			}
			ix.adding = cosine.AppendVector(ix.adding[:0], asTerms(v))
			put(id, ix.adding)
		})
		return cmp.Or(wrong, err)
	})
}

// Get returns a copy of the vector that is stored under an id, and whether there is one.
func (ix *VectorIndex[ID]) Get(id ID) (v Vector, ok bool, err error) {
	e, ok, err := ix.s.Get(id)
	if ok {
		v = vectorOf(e.Doc)
	}
	return v, ok, err
}

// All yields the documents, with copies of their vectors, in the order of adding, as they were when
// the loop began. An error of the index comes last, with an empty Entry.
func (ix *VectorIndex[ID]) All() iter.Seq2[Entry[ID, Vector], error] {
	return entries(ix.s.All(), vectorOf, ix.err)
}

// vectorOf returns the vector of a stored document.
func vectorOf(doc []uint64) Vector { return asVector(cosine.VectorOf(nil, doc)) }

// Similarity returns the similarity that the index was made for.
func (ix *VectorIndex[ID]) Similarity() float64 { return ix.similarity }

// Delete removes the document with an id and reports whether it was there. If the index has an
// error (see [OpenIndex]), Delete removes nothing and returns it.
func (ix *VectorIndex[ID]) Delete(id ID) (bool, error) { return ix.s.Delete(id) }

// DeleteFunc removes every document for which del returns true, and returns how many that was. The
// entry has no vector: Get returns it, but del must not use the index. DeleteFunc visits every
// stored document.
func (ix *VectorIndex[ID]) DeleteFunc(del func(Entry[ID, Vector]) bool) (int, error) {
	return ix.s.DeleteEach(deleteRule(del, func([]uint64) (v Vector) { return v }))
}

// Nearest returns the n stored vectors with the largest cosine with v, among those with a cosine
// above 0: the largest first, and equal ones in the order of adding. A stored vector finds itself. The similarity
// of the index does not matter. n ≤ 0 gives none. A v that is not valid is an error (see [Vector]).
func (ix *VectorIndex[ID]) Nearest(ctx context.Context, v Vector, n int) ([]Match[ID], error) {
	if n <= 0 {
		return nil, cmp.Or(ctx.Err(), ix.err())
	}
	return ix.search(ctx, v, 0, n, nil)
}

// Search yields the stored vectors whose cosine with v is at least the similarity of the index, the
// most similar first, and equally similar ones in the order of adding. It finds all of them before
// it yields the first. An error comes last, with an empty Match: that of the index or of the context, or one for a v
// that is not valid (see [Vector]).
func (ix *VectorIndex[ID]) Search(ctx context.Context, v Vector) iter.Seq2[Match[ID], error] {
	return func(yield func(Match[ID], error) bool) { matchSeq(ix.search(ctx, v, ix.similarity, 0, nil))(yield) }
}

// Exists reports whether Search finds anything. It looks for the most similar vector only.
func (ix *VectorIndex[ID]) Exists(ctx context.Context, v Vector) (bool, error) {
	found, err := ix.search(ctx, v, ix.similarity, 1, nil)
	return len(found) > 0, err
}

// SearchAndAdd is Search and Add in one step: it returns the stored vectors that are similar to v,
// in the order of Search, and stores v. Of two calls at the same time, one finds the other's
// vector. A vector that had the same id is replaced and not returned. After an error v is not
// stored.
func (ix *VectorIndex[ID]) SearchAndAdd(ctx context.Context, id ID, v Vector) ([]Match[ID], error) {
	ix.s.Lock()
	defer ix.s.Unlock()
	found, err := ix.search(ctx, v, ix.similarity, 0, &id)
	if err != nil {
		return found, err
	}
	return found, ix.add(id, v)
}

// ExistsAndAdd is SearchAndAdd for callers who only want to know whether anything similar is
// stored. It takes as long as SearchAndAdd.
func (ix *VectorIndex[ID]) ExistsAndAdd(ctx context.Context, id ID, v Vector) (bool, error) {
	found, err := ix.SearchAndAdd(ctx, id, v)
	return len(found) > 0, err
}

// search returns the vectors with a cosine of at least least with v (above 0 if least is 0), in the
// order of Search. most limits them to the best few, unless it is 0. The document with the id
// *without is left out, if without is not nil.
func (ix *VectorIndex[ID]) search(ctx context.Context, v Vector, least float64, most int, without *ID) ([]Match[ID], error) {
	ix.made()
	if err := cmp.Or(ctx.Err(), v.check()); err != nil {
		return nil, err
	}
	view := ix.s.View()
	defer runtime.KeepAlive(view.State)
	return ix.searchView(view, v, least, most, without), ix.err()
}

// searchView is search in a view, for a valid vector. Errors go to Err.
func (ix *VectorIndex[ID]) searchView(view store.View[ID, *cosine.Tables], v Vector, least float64, most int, without *ID) []Match[ID] {
	q := cosine.Queries.Get().(*cosine.Query)
	q.Set(asTerms(v), least, most)
	for i, r := range view.Runs {
		r.Find.Search(q, i, func(ord uint32) bool { return view.Sees(r, ord) })
	}
	// The tail has no lists: compare each of its vectors.
	for i := range view.Changes {
		if view.SeesTail(i) {
			q.Offer(cosine.Hit{Cosine: q.Cosine(view.Tail.Doc(i)), Run: len(view.Runs), Ord: i})
		}
	}
	// No two hits are equal, since run and ordinal decide between equal cosines.
	slices.SortFunc(q.Found, func(a, b cosine.Hit) int {
		if b.Worse(a) {
			return -1
		}
		return 1
	})
	out := make([]Match[ID], 0, len(q.Found))
	hits := q.Found
	defer cosine.Queries.Put(q) // its sums are clear
	for _, h := range hits {
		var id ID
		if h.Run == len(view.Runs) {
			id = view.Tail.IDs[h.Ord]
		} else {
			var err error
			if id, err = view.Runs[h.Run].IDs.At(h.Ord); err != nil {
				ix.s.Fail(err)
				return out
			}
		}
		if without == nil || id != *without {
			out = append(out, Match[ID]{ID: id, Similarity: h.Cosine})
		}
	}
	return out
}

// Pairs yields all pairs of stored vectors with a cosine of at least the similarity of the index,
// as they were when the loop began. A was added before B; pairs are ordered by B and then by A. An
// error of the index or of the context comes last, with an empty Pair. It copies all vectors; see
// [VectorPairs] for how much time and memory it takes besides.
func (ix *VectorIndex[ID]) Pairs(ctx context.Context) iter.Seq2[Pair[ID], error] {
	return func(yield func(Pair[ID], error) bool) {
		docs, err := ix.s.Collect()
		if err == nil {
			src := &cosine.Docs{Column: docs.Column, N: len(docs.IDs)}
			for p, err := range similarPairs(ctx, cosine.Pairs(src, ix.similarity)) {
				if err != nil {
					yield(Pair[ID]{}, err)
					return
				}
				if !yield(Pair[ID]{A: docs.IDs[p.A], B: docs.IDs[p.B], Similarity: p.Similarity}, nil) {
					return
				}
			}
			return
		}
		yield(Pair[ID]{}, err)
	}
}

// Groups groups the stored vectors by their Pairs: every group of two or more, in the order of adding
// of their first members. [GroupPairs] says what the linkages mean, and what they cost. Of equally
// good ones, the document that was added first is kept.
func (ix *VectorIndex[ID]) Groups(ctx context.Context, by Linkage) ([]Group[ID], error) {
	docs, err := ix.s.Collect()
	if err != nil {
		return nil, err
	}
	src := &cosine.Docs{Column: docs.Column, N: len(docs.IDs)}
	keep, err := GroupPairs(len(docs.IDs), similarPairs(ctx, cosine.Pairs(src, ix.similarity)), by, nil)
	if err != nil {
		return nil, err
	}
	vector := func(n int) Vector { return vectorOf(docs.Doc(uint32(n))) }
	return makeGroups(keep, store.MemoryColumn[ID](docs.IDs).At, func(n, keep int) Match[ID] {
		return Match[ID]{Similarity: vector(n).Cosine(vector(keep))}
	})
}
