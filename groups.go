package neardup

import (
	"iter"
	"slices"

	"github.com/neardup/neardup/internal/graph"
)

// A Linkage says which pairs of near-duplicates make a group.
type Linkage uint8

const (
	// Centres: every member is a near-duplicate of the one that is kept, so no text is dropped
	// without one like it being there. Members of a group may be far from each other.
	Centres Linkage = iota

	// CompleteLinks: all members are near-duplicates of each other.
	CompleteLinks

	// Chains: what is joined by a chain of pairs. A chain of weak links may pull together what
	// has nothing in common.
	Chains
)

// GroupPairs groups the vertices 0 to n−1 of a graph whose edges are pairs, and returns for each
// the one that represents its group. It does not depend on the order of the pairs. Positions
// outside panic.
//
// before says whether one vertex should rather represent a group than another; nil means the
// smaller. By Centres, the vertices are taken in this order: one that is near no centre so far
// becomes one, and then each of the others belongs to the centre it is most similar to. By
// CompleteLinks, groups are merged in the order of the pairs, the most similar first, as soon as
// all members of the one have been paired with all of the other (agglomerative clustering).
// Chains are the [Components].
//
// It takes time and memory for the pairs, sorted.
func GroupPairs(n int, pairs iter.Seq[SimilarPair[int]], by Linkage, before func(i, j int) bool) []int {
	var of []int
	switch by {
	case Centres:
		return graph.Centres(n, graphPairs(pairs), before)
	case CompleteLinks:
		of = graph.CompleteLinks(n, graphPairs(pairs))
	default:
		of = Components(n, func(yield func(Pair) bool) {
			for p := range pairs {
				if !yield(Pair{I: p.A, J: p.B}) {
					return
				}
			}
		})
	}
	if before == nil {
		return of
	}
	best := slices.Clone(of)
	for i, root := range of {
		if best[root] != i && before(i, best[root]) {
			best[root] = i
		}
	}
	for i, root := range of {
		of[i] = best[root]
	}
	return of
}

func graphPairs(pairs iter.Seq[SimilarPair[int]]) iter.Seq[graph.Pair] {
	return func(yield func(graph.Pair) bool) {
		pairs(func(p SimilarPair[int]) bool { return yield(graph.Pair(p)) })
	}
}

// Clusters groups fingerprints: two are in one cluster if they are joined by a
// chain of pairs at a Hamming distance of at most k. It returns for each
// fingerprint the position of the first member of its cluster, so i is the
// representative of a cluster, or alone, if and only if the result at i is i:
// keeping just those leaves one of each cluster.
//
// It is [Components] of [Pairs], except that equal fingerprints are taken
// together first, so a million copies of one page cost no more than other
// input. Chains may join fingerprints that are far apart themselves.
func Clusters[F Fingerprint](fps []F, k int) []int {
	label := make([]int, len(fps))
	if k < 0 {
		for i := range label {
			label[i] = i
		}
		return label
	}
	var distinct []F
	first := make([]int, 0)               // where each distinct one first occurs
	number := make(map[F]int, len(fps)/2) // fingerprint -> its index in distinct
	for i, fp := range fps {
		n, ok := number[fp]
		if !ok {
			n = len(distinct)
			number[fp] = n
			distinct = append(distinct, fp)
			first = append(first, i)
		}
		label[i] = n
	}
	of := Components(len(distinct), Pairs(distinct, k))
	for i, n := range label {
		label[i] = first[of[n]]
	}
	return label
}

// Components returns the connected components of the graph of n vertices whose
// edges are pairs: for each vertex the smallest vertex of its component. The
// order of the pairs does not matter. Positions outside 0 to n−1 panic. Use it
// to group pairs that were verified or filtered; see [Clusters].
//
// It takes time nearly linear in n and the number of pairs (union-find with
// path halving).
func Components(n int, pairs iter.Seq[Pair]) []int {
	f := graph.NewForest(n)
	for p := range pairs {
		f.Join(p.I, p.J)
	}
	return f.Roots()
}

// idGroups lists the ids of the members of every label that occurs more than once.
func idGroups[ID comparable](label []int, ids []ID) [][]ID {
	groups := groupsOf(label)
	out := make([][]ID, len(groups))
	for i, members := range groups {
		for _, n := range members {
			out[i] = append(out[i], ids[n])
		}
	}
	return out
}

// groupsOf lists the members of every label that occurs more than once, in
// ascending order.
func groupsOf(label []int) [][]int {
	members := make(map[int][]int)
	for i, l := range label {
		if l != i {
			members[l] = append(members[l], i)
		}
	}
	groups := make([][]int, 0, len(members))
	for l, m := range members {
		groups = append(groups, append([]int{l}, m...))
	}
	slices.SortFunc(groups, func(a, b []int) int { return a[0] - b[0] })
	return groups
}
