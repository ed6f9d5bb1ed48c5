package neardup

import (
	"context"
	"fmt"
	"hash/maphash"
	"iter"

	"github.com/neardup/neardup/internal/graph"
)

// This file groups pairs of similar documents, wherever they come from: fingerprints, signatures, vectors or a program
// of the caller's own. internal/graph has the algorithms.

// A Linkage says which pairs of near-duplicates make a group. In the literature, CompleteLinkage is complete-link
// clustering and SingleLinkage is single-link clustering.
type Linkage uint8

const (
	// CentreLinkage: every member is a near-duplicate of the member that is kept. So if you keep only that one,
	// everything you drop is similar to it. Two other members may be far from each other.
	CentreLinkage Linkage = iota

	// CompleteLinkage: all members are near-duplicates of each other, except that a document that would otherwise be
	// kept next to a near-duplicate joins its group.
	CompleteLinkage

	// SingleLinkage: any chain of pairs joins its ends, so groups are the connected components. A chain of weak links
	// may pull documents together that have nothing in common.
	SingleLinkage
)

// GroupPairs groups the vertices 0 to n−1 of a graph whose edges are pairs. It returns, for each vertex, the vertex
// that represents its group; a vertex alone represents itself. The order of pairs does not matter. GroupPairs panics if
// a pair has a position outside 0 to n−1. An unknown Linkage is an error. An error from pairs is returned; the result
// may then lack links.
//
// before reports whether vertex i should represent a group rather than vertex j. It must be a strict weak order;
// vertices that it does not distinguish are taken in ascending order, as all are if it is nil. Several goroutines may
// call it.
//
//   - [CentreLinkage]: vertices are taken in the order of before. A vertex that is near no centre so far
//     becomes a centre. Every other vertex belongs to the centre it is most similar to; if several
//     are equally similar, to the first of them.
//   - [CompleteLinkage]: pairs are taken from the most similar to the least, equally similar ones in
//     the order of A and then B. Two groups merge as soon as every member of one was paired with every
//     member of the other. Then vertices are taken in the order of before: one near no representative so
//     far represents its group. Members of a group that has none go to the most similar representative.
//   - [SingleLinkage]: the connected components, in nearly linear time, and memory for n vertices only.
//
// No two representatives are a pair. With the first two, every other vertex is paired with its own; they keep all pairs
// in memory. The higher its Similarity and the lower its Distance, the more similar the pair.
func GroupPairs(n int, pairs iter.Seq2[Pair[int], error], by Linkage, before func(i, j int) bool) ([]int, error) {
	if err := by.check(); err != nil {
		return nil, err
	}
	var failed error
	edges := func(yield func(graph.Pair) bool) {
		for p, err := range pairs {
			if failed = err; err != nil || !yield(graph.Pair{A: p.A, B: p.B, Similarity: p.Similarity - float64(p.Distance)}) {
				return
			}
		}
	}
	var of []int
	switch by {
	case CentreLinkage:
		return graph.ByComponent(n, edges, before, graph.Centres), failed
	case CompleteLinkage:
		return graph.ByComponent(n, edges, before, graph.Complete), failed
	case SingleLinkage:
		f := graph.NewForest(n)
		for p := range edges {
			f.Join(p.A, p.B)
		}
		of = f.Roots()
	}
	return graph.Represent(of, before), failed
}

// check returns an error unless l is one of the constants.
func (l Linkage) check() error {
	if l > SingleLinkage {
		return fmt.Errorf("neardup: Linkage %d is not CentreLinkage, CompleteLinkage or SingleLinkage", l)
	}
	return nil
}

// Components groups fingerprints: two are in one component if a chain of pairs at a Hamming distance of at most k joins
// them. For each fingerprint it returns the position of the first member of its cluster. So the result at i is i if
// fps[i] is alone or the first of its cluster; keeping just these leaves one of each cluster. A negative k leaves each
// alone. If the context ends early, Components returns its error and a result that may lack links.
//
// It is [GroupPairs] of [Pairs] with [SingleLinkage], except that equal fingerprints are taken together first, so a
// million copies of one page cost no more than other input. It takes as much time and memory as Pairs. Fingerprints of
// one cluster may be far apart. fps must not change meanwhile.
func Components[F Fingerprint](ctx context.Context, fps []F, k int) ([]int, error) {
	if k < 0 {
		label := make([]int, len(fps))
		for i := range label {
			label[i] = i
		}
		return label, ctx.Err()
	}
	// The seed keeps callers who choose fingerprints from making equal hashes.
	seed := maphash.MakeSeed()
	equal := graph.NewEqual(len(fps), func(i int) uint64 { return maphash.Comparable(seed, fps[i]) }, func(i, j int) bool { return fps[i] == fps[j] })
	distinct := make([]F, len(equal.Different))
	for n, i := range equal.Different {
		distinct[n] = fps[i]
	}
	of, err := GroupPairs(len(distinct), Pairs(ctx, distinct, k), SingleLinkage, nil)
	return equal.Spread(of), err
}

// makeGroups returns the groups of two or more positions that have the same representative, keep[n]. id and near tell
// the id of a position, and how near it is to its representative.
func makeGroups[ID comparable](keep []int, id func(n uint32) (ID, error), near func(n, keep int) Match[ID]) ([]Group[ID], error) {
	sizes := make([]int, len(keep))
	for _, k := range keep {
		sizes[k]++
	}
	groups, number := []Group[ID](nil), make(map[int]int)
	for n, k := range keep {
		if sizes[k] < 2 {
			continue
		}
		at, isKnown := number[k]
		if !isKnown {
			at = len(groups)
			number[k] = at
			groups = append(groups, Group[ID]{Members: make([]ID, 0, sizes[k]), Matches: make([]Match[ID], 0, sizes[k])})
		}
		m := near(n, k)
		var err error
		if m.ID, err = id(uint32(n)); err != nil {
			return nil, err
		}
		g := &groups[at]
		if g.Members, g.Matches = append(g.Members, m.ID), append(g.Matches, m); n == k {
			g.Keep = m.ID
		}
	}
	return groups, nil
}
