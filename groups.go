package neardup

import (
	"context"
	"fmt"
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
// vertex the one that represents its group. The order of the pairs does not matter. Positions
// outside 0 to n−1 panic, and so does an unknown Linkage.
//
// before reports whether one vertex should represent a group rather than another; nil prefers the
// smaller. With Centres, vertices are taken in this order: one that is near no centre so far
// becomes a centre, and then each other vertex belongs to the centre it is most similar to. With
// CompleteLinks, groups are merged in the order of the pairs, the most similar first, as soon as
// every member of one has been paired with every member of the other (agglomerative clustering).
// Chains are the connected components; they take time nearly linear in n and the number of pairs.
// The other two sort the pairs in memory. Pairs of fingerprints count as more similar the nearer
// they are.
func GroupPairs(n int, pairs iter.Seq[Pair[int]], by Linkage, before func(i, j int) bool) []int {
	if err := by.check(); err != nil {
		panic(err.Error())
	}
	edges := func(yield func(graph.Pair) bool) {
		pairs(func(p Pair[int]) bool {
			return yield(graph.Pair{A: p.A, B: p.B, Similarity: p.Similarity - float64(p.Distance)})
		})
	}
	var of []int
	switch by {
	case Centres:
		return graph.Centres(n, edges, before)
	case CompleteLinks:
		of = graph.CompleteLinks(n, edges)
	case Chains:
		f := graph.NewForest(n)
		for p := range edges {
			f.Join(p.A, p.B)
		}
		of = f.Roots()
	}
	return graph.Represent(of, before)
}

// check returns an error if there is no such linkage.
func (l Linkage) check() error {
	if l > Chains {
		return fmt.Errorf("neardup: Linkage %d is not Centres, CompleteLinks or Chains", l)
	}
	return nil
}

// Clusters groups fingerprints: two are in one cluster if a chain of pairs at a Hamming distance of
// at most k joins them. It returns for each fingerprint the position of the first member of its
// cluster, so i represents a cluster, or is alone, if and only if the result at i is i: keeping just
// those leaves one of each cluster. The error is that of the context.
//
// It is [GroupPairs] of [Pairs] by Chains, except that equal fingerprints are taken together first,
// so a million copies of one page cost no more than other input. Chains may join fingerprints that
// are far apart themselves.
func Clusters[F Fingerprint](ctx context.Context, fps []F, k int) ([]int, error) {
	label := make([]int, len(fps))
	if k < 0 {
		for i := range label {
			label[i] = i
		}
		return label, ctx.Err()
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
	of := GroupPairs(len(distinct), Pairs(ctx, distinct, k), Chains, nil)
	for i, n := range label {
		label[i] = first[of[n]]
	}
	return label, ctx.Err()
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
