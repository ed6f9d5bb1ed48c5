package neardup

import (
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
	s      store.Store[ID, *cosine.Tables]
	adding []uint64 // by the one who adds
}

// NewVectorIndex returns an empty index in memory.
func NewVectorIndex[ID comparable]() *VectorIndex[ID] {
	ix := &VectorIndex[ID]{}
	ix.persistent.files = &ix.s
	store.Init(&ix.s, store.Form[*cosine.Tables]{
		Kind: "vectors", Again: "make the vectors again",
		TailSize: func(live int) int { return min(max(64, live), 256) },
		Build:    cosine.NewTables,
		Read:     cosine.ReadTables,
		Check:    cosine.CheckVector,
	})
	return ix
}

// OpenVectorIndex opens an index that is in files, or makes an empty one. Files and ids are
// as with [OpenIndex]; version says how the vectors are made ([Fingerprinter.Version]), and files with
// another one are an [ErrVersion]. A snapshot is read whole, and much of it stays in memory.
func OpenVectorIndex[ID comparable](path, version string) (*VectorIndex[ID], error) {
	ix := NewVectorIndex[ID]()
	if err := ix.s.Open(path, version); err != nil {
		return nil, fmt.Errorf("neardup: OpenVectorIndex: %w", err)
	}
	return ix, nil
}

// words returns the words of a vector, as long as the index is locked.
func (ix *VectorIndex[ID]) words(v Vector) []uint64 {
	v.check()
	ix.adding = cosine.AppendVector(ix.adding[:0], v)
	return ix.adding
}

// Add stores a vector under an id. If the id is known, its vector is replaced, and counts as added
// now. After an error (see Err) it does nothing.
func (ix *VectorIndex[ID]) Add(id ID, v Vector) {
	ix.s.Mu.Lock()
	defer ix.s.Mu.Unlock()
	ix.s.Add(id, ix.words(v), ix.s.Clock())
}

// AddAll adds many vectors, as if one by one, but all of them are seen at once. It builds
// the index again with them, like Compact. An index that was opened has them on the disk
// then; after an error it is as it was. The sequence must not change the index.
func (ix *VectorIndex[ID]) AddAll(vectors iter.Seq2[ID, Vector]) error {
	return ix.s.AddAll(func(docs *store.Documents[ID], seconds uint32) {
		for id, v := range vectors {
			docs.Add(ix.words(v), id, seconds)
		}
	})
}

// All returns the ids and vectors in the order of adding.
func (ix *VectorIndex[ID]) All() iter.Seq2[ID, Vector] {
	return func(yield func(ID, Vector) bool) {
		st := ix.s.State.Load()
		for d := range ix.s.Each(st, st.Runs) {
			if !yield(d.ID, cosine.VectorOf(nil, d.Doc)) {
				return
			}
		}
	}
}

// DeleteFunc removes everything for which del returns true, and returns how much that was. added
// is when it was added, in whole seconds, by the clock of this machine, but never before
// what was added earlier. del must not change the index. It takes time for all that is
// stored.
func (ix *VectorIndex[ID]) DeleteFunc(del func(id ID, added time.Time) bool) int {
	return ix.s.DeleteEach(func(d store.Entry[ID]) (bool, bool) {
		return del(d.ID, time.Unix(int64(d.Time), 0)), true
	})
}

// Nearest returns the n stored vectors with the largest cosine with v, of those with one above 0:
// the largest first, and of equal ones those that were added first.
func (ix *VectorIndex[ID]) Nearest(v Vector, n int) []Similar[ID] {
	if n <= 0 {
		return nil
	}
	return ix.search(v, 0, n, nil)
}

// Search returns the stored vectors of which the cosine with v is at least least, and above
// 0, ordered as by Nearest. Nothing is at least NaN.
func (ix *VectorIndex[ID]) Search(v Vector, least float64) []Similar[ID] {
	return ix.search(v, least, 0, nil)
}

// SearchAndAdd is Search and Add in one: it returns what is known to be similar to v, and stores it. Of
// two that come at the same time one finds the other. What was stored under the id is
// replaced and not returned.
func (ix *VectorIndex[ID]) SearchAndAdd(id ID, v Vector, least float64) []Similar[ID] {
	ix.s.Mu.Lock()
	defer ix.s.Mu.Unlock()
	found := ix.search(v, least, 0, &id)
	ix.s.Add(id, ix.words(v), ix.s.Clock())
	return found
}

// search returns what is similar to v, without an id if that is not nil; most is 0 for all.
func (ix *VectorIndex[ID]) search(v Vector, least float64, most int, without *ID) []Similar[ID] {
	v.check()
	if least != least {
		return nil
	}
	view := ix.s.State.Load().View()
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
	out := make([]Similar[ID], 0, len(q.Found))
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
			out = append(out, Similar[ID]{id, h.Cosine})
		}
	}
	return out
}

// Pairs yields all pairs of stored vectors with a cosine of at least least, which must be above 0: see
// [VectorPairs]. A was added before B.
func (ix *VectorIndex[ID]) Pairs(least float64) iter.Seq[SimilarPair[ID]] {
	return func(yield func(SimilarPair[ID]) bool) {
		st := ix.s.State.Load()
		docs := ix.s.Documents(st, st.Runs, ix.Len())
		for p := range cosine.Pairs(&cosine.Docs{Column: docs.Column, N: len(docs.IDs)}, len(docs.IDs), 0, least) {
			if !yield(SimilarPair[ID]{docs.IDs[p.A], docs.IDs[p.B], p.Similarity}) {
				return
			}
		}
	}
}

// Delete removes an id and reports whether it was there. After an error (see Err) it does
// nothing.
func (ix *VectorIndex[ID]) Delete(id ID) bool { return ix.s.Delete(id) }
