package dedup

import (
	"cmp"
	"slices"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/dedup/internal/judge"
)

// This file chooses which document of a group to keep.

// A keeper chooses the document of one group to keep.
type keeper[ID comparable] struct {
	*snapshot[ID]
	worker  *judge.Worker
	members []uint32 // the documents of the group, ascending
	edges   *edges   // all of them, or nil

	of   uint32          // a slot
	near map[uint32]bool // its neighbours; nil if there is none yet
}

// mostTries is how many members are tried before the one that represents the group is kept. Each try compares one with
// all others.
const mostTries = 8

// choose returns the document to keep: the one that Prefer likes best, as far as all others are near-duplicates of it. root
// represents the group, and is kept if there is none such.
func (k *keeper[ID]) choose(g *Grouping[ID], root uint32) uint32 {
	prefers := g.Prefer
	if prefers == nil {
		prefers = func(a, b Entry[ID]) bool { return false }
	}
	inOrder := slices.Clone(k.members)
	slices.SortStableFunc(inOrder, func(i, j uint32) int {
		a, b := k.document(i), k.document(j)
		oldA, oldB := i < k.oldDocs, j < k.oldDocs
		switch {
		case oldA != oldB && oldA, oldA == oldB && prefers(a, b):
			return -1
		case oldA != oldB && oldB, oldA == oldB && prefers(b, a):
			return 1
		}
		return cmp.Or(b.Length-a.Length, cmp.Compare(k.docs.At(i).text, k.docs.At(j).text))
	})
	for n, at := range inOrder {
		if at == root || n == mostTries && g.Linkage == neardup.CentreLinkage {
			break
		}
		if g.Linkage != neardup.CentreLinkage || !slices.ContainsFunc(k.members, func(other uint32) bool { return !k.isNear(at, other) }) {
			return at
		}
	}
	return root
}

// isNear reports whether two documents are near-duplicates.
func (k *keeper[ID]) isNear(a, b uint32) bool {
	i, j := k.contentOf(a), k.contentOf(b)
	if k.edges == nil || i == j || !k.isFresh(i) && !k.isFresh(j) {
		_, ok := k.verdict(a, b)
		return ok
	}
	e := k.between(k.edges, i, j)
	return e != nil && e.kind&k.options.Kinds != 0
}

// verdict returns what is said of two documents, and whether they are near-duplicates. It is the zero verdict for two that
// are no neighbours.
func (k *keeper[ID]) verdict(a, b uint32) (v verdict, ok bool) {
	i, j := k.contentOf(a), k.contentOf(b)
	if i == j {
		v = verdict{similarity: 1, probability: 1, kind: k.equalKind(a, b)}
		return v, v.kind&k.options.Kinds != 0
	}
	if e := k.between(k.edges, i, j); e != nil {
		return e.verdict, e.kind&k.options.Kinds != 0
	}
	x, y := k.order[i], k.order[j]
	if k.near == nil || k.of != x {
		k.of, k.near = x, map[uint32]bool{}
		for _, n := range k.worker.NearOfAll(x) {
			k.near[n.Slot] = true
		}
	}
	if !k.near[y] {
		return verdict{kind: k.worker.Kind(x, y, judge.Score{})}, false
	}
	if v, ok = k.options.judge(k.worker, x, y); v.kind == 0 {
		v.kind = k.worker.Kind(x, y, judge.Score{})
	}
	return v, ok
}
