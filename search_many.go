package neardup

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"

	"github.com/neardup/neardup/internal/hamming"
	"github.com/neardup/neardup/internal/minhash"
	"github.com/neardup/neardup/internal/parallel"
	"github.com/neardup/neardup/internal/store"
)

// This file searches indexes for many queries at a time. A single search mostly waits for memory. Here the
// waits of several searches overlap (internal/hamming/many.go, internal/minhash/search.go), and all
// processors take part.

// A chunk of one goroutine must not have more queries than a tree takes at a time.
const _ = uint(hamming.MostQueries - parallel.Chunk)

// SearchMany is [Index.Search] for many fingerprints at a time, which takes less time for each if the
// index is larger than the caches (https://github.com/neardup/neardup/blob/main/docs/index.md has numbers). found[i] has the matches of fps[i],
// the nearest first, and equally near ones in the order of adding; it is nil if there are none. All
// searches see the index as it was when SearchMany began. It uses all processors. After an error,
// of the index or of the context, found means nothing.
func (ix *Index[ID, F]) SearchMany(ctx context.Context, fps []F) (found [][]Match[ID], err error) {
	v := ix.s.View()
	defer runtime.KeepAlive(v.State)
	found = make([][]Match[ID], len(fps))
	parallel.Chunks(len(fps), func(_, from, to int) {
		if ctx.Err() == nil {
			ix.searchChunk(v, fps[from:to], found[from:to])
		}
	})
	return found, cmp.Or(ctx.Err(), ix.err())
}

// searchChunk is SearchMany for a few fingerprints, in the goroutine of the caller.
func (ix *Index[ID, F]) searchChunk(v store.View[ID, *hamming.Tree], fps []F, found [][]Match[ID]) {
	queries := make([]uint64, 0, len(fps)*ix.words)
	for _, fp := range fps {
		lo, hi := split(fp)
		queries = append(queries, []uint64{lo, hi}[:ix.words]...)
	}
	var hits []hit
	for i, r := range v.Runs {
		err := r.Find.SearchMany(queries, ix.distance, func(query int, ord uint32, d int) {
			if v.Sees(r, ord) {
				hits = append(hits, hit{query: query, distance: d, place: placeOf(i, ord)})
			}
		})
		if err != nil {
			ix.s.Fail(err)
			return
		}
	}
	if v.Changes > 0 {
		last := hamming.NewScan(ix.words, v.Tail.Docs[:int(v.Changes)*ix.words])
		last.SearchMany(queries, ix.distance, func(query int, i uint32, d int) {
			if v.SeesTail(i) {
				hits = append(hits, hit{query: query, distance: d, place: placeOf(len(v.Runs), i)})
			}
		})
	}
	if err := deliver(&v, hits, found); err != nil {
		ix.s.Fail(err)
	}
}

// SearchMany is [SignatureIndex.Search] for many signatures at a time, which takes less time for each
// if the index is larger than the caches (https://github.com/neardup/neardup/blob/main/docs/sets.md has numbers). found[i] has the matches of
// signatures[i], the most similar first, and equally similar ones in the order of adding; it is nil
// if there are none. All searches see the index as it was when SearchMany began. It uses all
// processors. A signature of another length than those of the index is an error, and nothing is
// found. After another error, of the index or of the context, found means nothing.
func (ix *SignatureIndex[ID]) SearchMany(ctx context.Context, signatures []Signature) (found [][]Match[ID], err error) {
	ix.made()
	for i, s := range signatures {
		if len(s) != ix.layout.Values {
			return nil, fmt.Errorf("neardup: signature %d has %d values, but those of the SignatureIndex have %d", i, len(s), ix.layout.Values)
		}
	}
	v := ix.s.View()
	defer runtime.KeepAlive(v.State)
	found = make([][]Match[ID], len(signatures))
	parallel.Chunks(len(signatures), func(_, from, to int) {
		if ctx.Err() == nil {
			ix.searchChunk(v, signatures[from:to], found[from:to])
		}
	})
	return found, cmp.Or(ctx.Err(), ix.err())
}

// searchChunk is SearchMany for a few signatures, in the goroutine of the caller.
func (ix *SignatureIndex[ID]) searchChunk(v store.View[ID, *minhash.Tables], signatures []Signature, found [][]Match[ID]) {
	queries := make([]*minhash.Query, len(signatures))
	for i, s := range signatures {
		queries[i] = minhash.Queries.Get().(*minhash.Query)
		queries[i].Set(ix.layout, s)
	}
	defer func() {
		for _, q := range queries {
			minhash.Queries.Put(q)
		}
	}()
	var hits []hit
	take := func(query int, place uint64, doc []uint64) {
		if j := queries[query].Jaccard(ix.layout, doc); j >= ix.similarity {
			hits = append(hits, hit{query: query, similarity: j, place: place})
		}
	}
	for i, r := range v.Runs {
		err := r.Find.SearchMany(queries, func(query int, ord uint32, doc []uint64) {
			if v.Sees(r, ord) {
				take(query, placeOf(i, ord), doc)
			}
		})
		if err != nil {
			ix.s.Fail(err)
			return
		}
	}
	if v.Changes > 0 {
		sees := func(i uint32) bool { return i < v.Changes && v.SeesTail(i) }
		for query, q := range queries {
			v.Tail.Find.(*minhash.Tail).Search(q, v.Tail.Docs, sees, func(i uint32, doc []uint64) bool {
				take(query, placeOf(len(v.Runs), i), doc)
				return true
			})
		}
	}
	if err := deliver(&v, hits, found); err != nil {
		ix.s.Fail(err)
	}
}

// SearchMany is [VectorIndex.Search] for many vectors at a time, on all processors. found[i] has the
// matches of vectors[i], in the order of Search; it is nil if there are none. All searches see the
// index as it was when SearchMany began. A vector that is not valid is an error, and nothing is
// found. After another error, of the index or of the context, found means nothing.
func (ix *VectorIndex[ID]) SearchMany(ctx context.Context, vectors []Vector) (found [][]Match[ID], err error) {
	ix.made()
	for i, v := range vectors {
		if err := v.check(); err != nil {
			return nil, fmt.Errorf("vector %d: %w", i, err)
		}
	}
	view := ix.s.View()
	defer runtime.KeepAlive(view.State)
	found = make([][]Match[ID], len(vectors))
	parallel.Each(len(vectors), func(i int) {
		if ctx.Err() != nil {
			return
		}
		if matches := ix.searchView(view, vectors[i], ix.similarity, 0, nil); len(matches) > 0 {
			found[i] = matches
		}
	})
	return found, cmp.Or(ctx.Err(), ix.err())
}

// A hit is a match of one of many queries, with its place: the number of the run, or of runs for the
// tail, and the ordinal there.
type hit struct {
	query      int
	distance   int
	similarity float64
	place      uint64
}

// placeOf returns a number that is higher for a document that was added later.
func placeOf(run int, ord uint32) uint64 { return uint64(run)<<32 | uint64(ord) }

// compare puts the hits of a query together, the nearest first, and equally near ones in the order of
// adding.
func (h hit) compare(g hit) int {
	switch {
	case h.query != g.query:
		return h.query - g.query
	case h.distance != g.distance:
		return h.distance - g.distance
	case h.similarity != g.similarity:
		return cmp.Compare(g.similarity, h.similarity)
	}
	return cmp.Compare(h.place, g.place)
}

// deliver gives every query its matches, in order.
func deliver[ID comparable, T store.Finder](v *store.View[ID, T], hits []hit, found [][]Match[ID]) error {
	slices.SortFunc(hits, hit.compare)
	matches := make([]Match[ID], len(hits))
	for at := 0; at < len(hits); {
		from, query := at, hits[at].query
		for ; at < len(hits) && hits[at].query == query; at++ {
			h := &hits[at]
			m := &matches[at]
			m.Distance, m.Similarity = h.distance, h.similarity
			run, ord := int(h.place>>32), uint32(h.place)
			if run == len(v.Runs) {
				m.ID = v.Tail.IDs[ord]
				continue
			}
			id, err := v.Runs[run].IDs.At(ord)
			if err != nil {
				return err
			}
			m.ID = id
		}
		found[query] = matches[from:at:at]
	}
	return nil
}
