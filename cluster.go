package neardup

import (
	"iter"
	"slices"
)

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
	f := newForest(n)
	for p := range pairs {
		f.join(p.I, p.J)
	}
	return f.roots()
}

// A forest has for each vertex one of its component, the smallest at the root.
type forest []int

func newForest(n int) forest {
	f := make(forest, n)
	for i := range f {
		f[i] = i
	}
	return f
}

// find returns the smallest vertex of the component of i.
func (f forest) find(i int) int {
	for f[i] != i {
		f[i] = f[f[i]]
		i = f[i]
	}
	return i
}

func (f forest) join(a, b int) {
	i, j := f.find(a), f.find(b)
	f[max(i, j)] = min(i, j)
}

// roots makes the forest the smallest vertex of each component.
func (f forest) roots() []int {
	for i := range f {
		f[i] = f.find(i)
	}
	return f
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
