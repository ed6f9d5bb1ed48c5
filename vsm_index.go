package neardup

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"time"

	"github.com/neardup/neardup/internal/cosine"
	"github.com/neardup/neardup/internal/store"
)

// A VectorIndex finds, among stored vectors, those that have the largest cosine with that of a
// query, under the caller's own ids. It is exact: it finds what comparing all of them by
// [Vector.Cosine] would, but reads few of the lists of an inverted index (inverted.go tells how).
//
// NewVectorIndex makes one in memory. OpenVectorIndex makes one that is also in files, like those
// of [OpenIndex], and outlives the program.
//
// All methods may be called from several goroutines at once. Those that change the index take
// turns. Those that read never wait, and see the index as it was when they began. The vectors are
// in immutable parts, which grow by eights, and the last few hundred behind them are compared one
// by one. AddAll and Compact build a single part, which is searched fastest.
//
// A term takes 20 bytes, and 16 more for each feature that is new. An index holds at most 2³⁰
// vectors, and a part of it 2³² terms; more panic. Vectors without terms are stored, but are
// similar to nothing.
type VectorIndex[ID comparable] struct {
	persistent
	s          store.Store[ID, *cosine.Tables]
	similarity float64
	adding     []uint64 // of whoever holds the lock
}

// VectorIndexOptions are the settings of a VectorIndex. The zero value serves for an index in memory.
type VectorIndexOptions struct {
	// Version says how the vectors are made ([Fingerprinter.Version]). OpenVectorIndex
	// needs it, and refuses files with another one.
	Version string
}

// NewVectorIndex returns an empty index in memory, for vectors with a cosine of at least
// similarity, above 0 and at most 1.
func NewVectorIndex[ID comparable](similarity float64, options VectorIndexOptions) (*VectorIndex[ID], error) {
	ix, err := newVectorIndex[ID](similarity)
	if err != nil {
		return nil, fmt.Errorf("neardup: NewVectorIndex: %w", err)
	}
	return ix, nil
}

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

// OpenVectorIndex opens an index that is in files, or makes an empty one. Files and ids are as with
// [OpenIndex]. The similarity may be another one than before. A snapshot is read whole, and much of
// it stays in memory.
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
	ix.adding = cosine.AppendVector(ix.adding[:0], v)
	return ix.s.Add(id, ix.adding)
}

// Add stores a vector under an id. If the id is known, its vector is replaced, and counts as added
// now. After an error (see Err) Add stores nothing and returns that error.
func (ix *VectorIndex[ID]) Add(id ID, v Vector) error {
	ix.s.Lock()
	defer ix.s.Unlock()
	return ix.add(id, v)
}

// AddAll adds many vectors as if one by one, but readers see all of them at once. It rebuilds the
// index with them, like Compact. An opened index has them on the disk then. After an error, also
// that of the context, the index is as it was. The sequence must not change the index.
func (ix *VectorIndex[ID]) AddAll(ctx context.Context, vectors iter.Seq2[ID, Vector]) error {
	return ix.s.AddAll(func(put func(ID, []uint64)) error {
		var wrong error
		err := collectAll(ctx, vectors, func(id ID, v Vector) {
			if err := v.check(); err != nil {
				wrong = err
				return
			}
			ix.adding = cosine.AppendVector(ix.adding[:0], v)
			put(id, ix.adding)
		})
		return cmp.Or(wrong, err)
	})
}

// Get returns the vector that is stored under an id.
func (ix *VectorIndex[ID]) Get(id ID) (v Vector, ok bool, err error) {
	doc, ok, err := ix.s.Get(id)
	if ok {
		v = cosine.VectorOf(nil, doc)
	}
	return v, ok, err
}

// All yields the ids and vectors in the order of adding. An error ends the loop: ask Err after it.
func (ix *VectorIndex[ID]) All() iter.Seq2[ID, Vector] {
	return func(yield func(ID, Vector) bool) {
		for d := range ix.s.All() {
			if !yield(d.ID, cosine.VectorOf(nil, d.Doc)) {
				return
			}
		}
	}
}

// Delete removes an id and reports whether it was there.
func (ix *VectorIndex[ID]) Delete(id ID) (bool, error) { return ix.s.Delete(id) }

// DeleteFunc removes every document for which del returns true, and returns how many that was.
// added is when the document was added, in whole seconds by the clock of this machine, but never
// before what was added earlier. del must not change the index. It takes time for all that is
// stored.
func (ix *VectorIndex[ID]) DeleteFunc(del func(id ID, added time.Time) bool) (int, error) {
	return ix.s.DeleteEach(func(d store.Entry[ID]) (bool, bool) {
		return del(d.ID, time.Unix(int64(d.Time), 0)), true
	})
}

// Nearest returns the n stored vectors with the largest cosine with v, of those with one above 0:
// the largest first, and of equal ones those that were added first. It does not depend on the
// similarity of the index.
func (ix *VectorIndex[ID]) Nearest(v Vector, n int) ([]Match[ID], error) {
	if n <= 0 {
		return nil, ix.Err()
	}
	return ix.search(v, 0, n, nil)
}

// Search yields the stored vectors whose cosine with v is at least the similarity of the index, the
// most similar first, and of equally similar ones those that were added first. An error comes last,
// with an empty Match.
func (ix *VectorIndex[ID]) Search(v Vector) iter.Seq2[Match[ID], error] {
	return func(yield func(Match[ID], error) bool) { matchSeq(ix.search(v, ix.similarity, 0, nil))(yield) }
}

// Exists reports whether Search finds anything.
func (ix *VectorIndex[ID]) Exists(v Vector) (bool, error) {
	found, err := ix.search(v, ix.similarity, 1, nil)
	return len(found) > 0, err
}

// SearchAndAdd is Search and Add in one: it returns the stored vectors that are similar to v, in the
// order of Search, and stores v. Of two calls at the same time, one finds the other's vector. What
// was stored under the id is replaced and not returned. After an error v is not stored.
func (ix *VectorIndex[ID]) SearchAndAdd(id ID, v Vector) ([]Match[ID], error) {
	ix.s.Lock()
	defer ix.s.Unlock()
	found, err := ix.search(v, ix.similarity, 0, &id)
	if err != nil {
		return found, err
	}
	return found, ix.add(id, v)
}

// ExistsAndAdd is SearchAndAdd for callers who only want to know whether anything similar is stored.
func (ix *VectorIndex[ID]) ExistsAndAdd(id ID, v Vector) (bool, error) {
	found, err := ix.SearchAndAdd(id, v)
	return len(found) > 0, err
}

// search returns what is similar to v, without an id if that is not nil; most is 0 for all.
func (ix *VectorIndex[ID]) search(v Vector, least float64, most int, without *ID) ([]Match[ID], error) {
	ix.made()
	if err := v.check(); err != nil {
		return nil, err
	}
	if least != least {
		return nil, ix.Err()
	}
	view := ix.s.View()
	defer runtime.KeepAlive(view.State)
	q := cosine.Queries.Get().(*cosine.Query)
	q.Set(v, least, most)
	for i, r := range view.Runs {
		r.Find.Search(q, i, func(ord uint32) bool { return view.Sees(r, ord) })
	}
	for i := range view.Changes {
		if view.SeesTail(i) {
			q.Offer(cosine.Hit{Cosine: q.Cosine(view.Tail.Doc(i)), Run: len(view.Runs), Ord: i})
		}
	}
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
				return out, ix.Err()
			}
		}
		if without == nil || id != *without {
			out = append(out, Match[ID]{ID: id, Similarity: h.Cosine})
		}
	}
	return out, ix.Err()
}

// Pairs yields all pairs of stored vectors with a cosine of at least the similarity of the index:
// see [VectorPairs]. An error of the index or of the context comes last, with an empty Pair.
func (ix *VectorIndex[ID]) Pairs(ctx context.Context) iter.Seq2[Pair[ID], error] {
	return func(yield func(Pair[ID], error) bool) {
		docs, err := ix.s.Collect()
		if err == nil {
			src := &cosine.Docs{Column: docs.Column, N: len(docs.IDs)}
			for p := range similarPairs(ctx, cosine.Pairs(src, len(docs.IDs), 0, ix.similarity)) {
				if !yield(Pair[ID]{A: docs.IDs[p.A], B: docs.IDs[p.B], Similarity: p.Similarity}, nil) {
					return
				}
			}
			err = ctx.Err()
		}
		if err != nil {
			yield(Pair[ID]{}, err)
		}
	}
}

// Groups returns the ids of the connected components of Pairs with two or more members. Members and
// groups are in the order of adding.
func (ix *VectorIndex[ID]) Groups(ctx context.Context) ([][]ID, error) {
	docs, err := ix.s.Collect()
	if err != nil {
		return nil, err
	}
	src := &cosine.Docs{Column: docs.Column, N: len(docs.IDs)}
	label := GroupPairs(len(docs.IDs), similarPairs(ctx, cosine.Pairs(src, len(docs.IDs), 0, ix.similarity)), Chains, nil)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return idGroups(label, docs.IDs), nil
}
