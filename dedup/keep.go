package dedup

import (
	"cmp"
	"slices"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/dedup/internal/judge"
)

// This file chooses which document of a group to keep. No two documents that are kept may be near-duplicates, and
// around centres every other document must be a near-duplicate of the one that its group keeps. Both are true of the
// documents that represent the groups. So the choice starts with these, and a preferred document takes the place of
// one only if both stay true. With SingleLinkage any member will do, since no near-duplicate is in another group.
//
// Whether a member can be kept depends on what other groups keep at that moment. Therefore the order of the groups
// matters, and it must not depend on the order of adding; see chooseAll.

// A keeper chooses the documents to keep, one group after the other. It is for one goroutine. kept is shared by
// all keepers without a lock, because groups that are chosen at the same time have no contents near each other.
type keeper[ID comparable] struct {
	*snapshot[ID]
	worker *judge.Worker
	edges  *edges    // all of them, or nil
	beside *incident // the same by content
	kept   []int32   // how many documents of each content are kept
	prefer func(a, b Entry[ID]) bool
	by     neardup.Linkage

	members []uint32        // the documents of the group, ascending
	of      uint32          // a slot
	near    map[uint32]bool // its neighbours; nil if there is none yet
}

// newKeeper returns a keeper for groups: of has for each document the one that represents its group, or gone.
func (s *snapshot[ID]) newKeeper(g *GroupOptions[ID], of []uint32) *keeper[ID] {
	k := &keeper[ID]{snapshot: s, worker: s.judge.Worker(), edges: s.known(), kept: make([]int32, len(s.order)), prefer: g.Prefer, by: g.Linkage}
	if k.prefer == nil {
		k.prefer = func(a, b Entry[ID]) bool { return false }
	}
	for at, root := range of {
		if i := s.contentOf(uint32(at)); uint32(at) == root && i >= 0 {
			k.kept[i]++
		}
	}
	return k
}

// another returns a keeper for another goroutine. The two may choose for groups that have no
// near-duplicates in common.
func (k *keeper[ID]) another() *keeper[ID] {
	other := *k
	other.worker, other.near = k.judge.Worker(), nil
	return &other
}

// choose returns which member of a group, which root represents, to keep. It corrects kept at once, so that the
// next group sees what this one keeps.
func (k *keeper[ID]) choose(members []uint32, root uint32) uint32 {
	k.members = members
	keep := k.best(root)
	k.kept[k.contentOf(root)]--
	k.kept[k.contentOf(keep)]++
	return keep
}

// compare is negative if a document is preferred to another one: old ones to new ones, then by Prefer, then
// longer ones. The hash of the text decides last, and not the slot, so that the order of adding does not matter.
func (k *keeper[ID]) compare(i, j uint32) int {
	a, b := k.document(i), k.document(j)
	oldA, oldB := i < k.oldDocs, j < k.oldDocs
	switch {
	case oldA != oldB && oldA, oldA == oldB && k.prefer(a, b):
		return -1
	case oldA != oldB && oldB, oldA == oldB && k.prefer(b, a):
		return 1
	}
	return cmp.Or(b.Length-a.Length, cmp.Compare(k.docs.At(i).text, k.docs.At(j).text))
}

// best returns the member that is preferred, of those that may be kept. It ends at the one that represents the
// group, which may always be kept, and after mostTries, since each try compares a member with all others.
func (k *keeper[ID]) best(root uint32) uint32 {
	inOrder := slices.Clone(k.members)
	slices.SortStableFunc(inOrder, k.compare)
	for n, at := range inOrder {
		if at == root || n == mostTries && k.by != neardup.SingleLinkage {
			break
		}
		if k.by == neardup.SingleLinkage || k.isCentre(at) && k.isFree(at, root) {
			return at
		}
	}
	return root
}

// isCentre reports whether all members are near-duplicates of one.
func (k *keeper[ID]) isCentre(at uint32) bool {
	return !slices.ContainsFunc(k.members, func(other uint32) bool { return !k.isNear(at, other) })
}

// isFree reports whether no other group keeps a near-duplicate of a document whose group root represents. kept
// counts the document that its own group keeps so far, which does not matter here.
func (k *keeper[ID]) isFree(at, root uint32) bool {
	own := k.contentOf(root)
	others := func(i int32) int32 { // that are kept of a content
		if i == own {
			return k.kept[i] - 1
		}
		return k.kept[i]
	}
	i := k.contentOf(at)
	// Another group keeps a document of the same content. That happens only if equal documents do not count as
	// near-duplicates. Whether these two would be is not looked at: the answer is no, to be safe.
	if others(i) > 0 {
		return false
	}
	return !slices.ContainsFunc(k.edgesAt(i), func(e edge) bool { return k.joins(&e) && others(e.a) > 0 })
}

// edgesAt returns the edges of a content, with the other one as a.
func (k *keeper[ID]) edgesAt(i int32) []edge {
	if k.edges == nil {
		return k.edgesWith(k.worker, i)
	}
	return k.beside.of(i)
}

// isNear reports whether two documents are near-duplicates.
func (k *keeper[ID]) isNear(a, b uint32) bool {
	i, j := k.contentOf(a), k.contentOf(b)
	if k.edges == nil || i == j {
		_, ok := k.verdict(a, b)
		return ok
	}
	e := k.between(k.edges, i, j)
	return e != nil && e.kind&k.options.Kinds != 0
}

// verdict returns what is said of two documents, and whether they are near-duplicates. Two that are not
// neighbours get a kind, but no similarity and no probability. The neighbours of the first document are
// remembered, since callers ask about one document and all members of its group.
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
