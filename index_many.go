package neardup

import (
	"cmp"
	"runtime"
	"slices"

	"github.com/neardup/neardup/internal/hamming"
	"github.com/neardup/neardup/internal/parallel"
	"github.com/neardup/neardup/internal/store"
)

// This file searches an [Index] for many fingerprints at a time. A single search mostly waits for memory.
// Here the waits of several searches overlap (internal/hamming/many.go), and all processors take part.

// SearchMany is [Index.Search] for many fingerprints at a time, which takes half the time or less
// for each. found[i] has the matches of fps[i], the nearest first, and equally near ones in the
// order of adding; nil if there are none. All are found as the index was when SearchMany began. It
// uses all processors. If the index has an error (see Err), some matches may be missing.
func (ix *Index[ID, F]) SearchMany(fps []F) (found [][]Match[ID], err error) {
	v := ix.s.View()
	defer runtime.KeepAlive(v.State)
	found = make([][]Match[ID], len(fps))
	parallel.Chunks(len(fps), func(_, from, to int) {
		ix.searchChunk(v, fps[from:to], found[from:to])
	})
	return found, ix.Err()
}

// A manyHit is a match of one of many queries, with its place as in [Index.search].
type manyHit struct {
	query    int
	distance int
	place    uint64
}

// compare puts the hits of a query together, in the order of [found.compare].
func (h manyHit) compare(g manyHit) int {
	switch {
	case h.query != g.query:
		return h.query - g.query
	case h.distance != g.distance:
		return h.distance - g.distance
	}
	return cmp.Compare(h.place, g.place)
}

// searchChunk is SearchMany for a few fingerprints, in the goroutine of the caller.
func (ix *Index[ID, F]) searchChunk(v store.View[ID, *hamming.Tree], fps []F, found [][]Match[ID]) {
	queries := make([]uint64, 0, len(fps)*ix.words)
	for _, fp := range fps {
		lo, hi := split(fp)
		queries = append(queries, []uint64{lo, hi}[:ix.words]...)
	}
	var hits []manyHit
	for i, r := range v.Runs {
		err := r.Find.SearchMany(queries, ix.distance, func(query int, ord uint32, d int) {
			if v.Sees(r, ord) {
				hits = append(hits, manyHit{query, d, uint64(i)<<32 | uint64(ord)})
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
				hits = append(hits, manyHit{query, d, uint64(len(v.Runs))<<32 | uint64(i)})
			}
		})
	}
	slices.SortFunc(hits, manyHit.compare)
	matches := make([]Match[ID], len(hits))
	for at := 0; at < len(hits); {
		from, query := at, hits[at].query
		for ; at < len(hits) && hits[at].query == query; at++ {
			h := &hits[at]
			run, ord := int(h.place>>32), uint32(h.place)
			matches[at].Distance = h.distance
			if run == len(v.Runs) {
				matches[at].ID = v.Tail.IDs[ord]
				continue
			}
			id, err := v.Runs[run].IDs.At(ord)
			if err != nil {
				ix.s.Fail(err)
				return
			}
			matches[at].ID = id
		}
		found[query] = matches[from:at:at]
	}
}
