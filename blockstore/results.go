package blockstore

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/neardup/neardup"
)

// A results collects the matches of a search, in any order. Its memory is bounded: it keeps at most
// 64 or twice the limit for each value, whichever is more.
type results struct {
	limit   int
	matches [][]neardup.Match[string] // by value; not sorted, and perhaps with repetitions
}

// newResults returns empty results of a search for n values, with at most limit matches for each.
func newResults(n, limit int) (*results, error) {
	if limit < 1 {
		return nil, fmt.Errorf("neardup: the limit of matches is %d; it must be at least 1", limit)
	}
	return &results{limit, make([][]neardup.Match[string], n)}, nil
}

// add adds a match for value i. The same id may come several times, since several tables may lead
// to it; its nearest match counts.
func (r *results) add(i int, match neardup.Match[string]) {
	m := append(r.matches[i], match)
	if r.matches[i] = m; len(m) >= 64 && len(m)-r.limit >= r.limit {
		r.matches[i] = best(m, r.limit)
	}
}

// sorted returns the matches of each value, as Store.Search must return them. add must not be
// called afterwards.
func (r *results) sorted() [][]neardup.Match[string] {
	for i, m := range r.matches {
		r.matches[i] = best(m, r.limit)
	}
	return r.matches
}

// nearer compares matches by how near they are.
func nearer(a, b neardup.Match[string]) int {
	return cmp.Or(cmp.Compare(a.Distance, b.Distance), cmp.Compare(b.Similarity, a.Similarity))
}

// best sorts matches, keeps each id once with its nearest match, and cuts them to limit. It reuses
// the slice.
func best(matches []neardup.Match[string], limit int) []neardup.Match[string] {
	if len(matches) > 1 {
		slices.SortFunc(matches, func(a, b neardup.Match[string]) int {
			return cmp.Or(cmp.Compare(a.ID, b.ID), nearer(a, b))
		})
		matches = slices.CompactFunc(matches, func(a, b neardup.Match[string]) bool { return a.ID == b.ID })
		slices.SortFunc(matches, func(a, b neardup.Match[string]) int {
			return cmp.Or(nearer(a, b), cmp.Compare(a.ID, b.ID))
		})
	}
	if len(matches) > limit {
		clear(matches[limit:])
		matches = matches[:limit]
	}
	return matches
}
