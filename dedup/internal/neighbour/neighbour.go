// Package neighbour finds the neighbours of a text: those whose signatures agree in a band and, by an
// estimate, in more than a quarter of their features.
//
// Whether two texts are neighbours depends on these two alone, except in a crowd, where it depends on the
// others that share the band too. So documents that have nothing to do with a text change nothing about its
// neighbours, and neither does the order in which they came.
//
//	sketch.go     what is kept in memory of a signature
//	index.go      signatures of one level, in buckets
//	runs.go       the lists of the buckets
//	neighbour.go  the graph of all neighbours
//	search.go     the neighbours of one content
//	looked.go     what a search has looked at
//	join.go       all neighbours of all at once
//	links.go      who can matter to whom, where no process has all
package neighbour

import (
	"cmp"

	"github.com/neardup/neardup/dedup/internal/signature"
)

// leastAgreement is in how many of 128 values neighbours agree: a similarity of about 0.28 by pairs of words,
// and of 0.34 by runs of characters, which texts of one subject share by chance. With 32 and 40, and with 38
// and 45, the sets in docs/dedup.md come out alike; but with less, chance finds neighbours for most of some
// million texts (docs/dedup.md).
var leastAgreement = [signature.Levels]int32{signature.Long: 36, signature.Short: 43}

// Signatures are where the signatures are, which take too much memory to be kept here: a search needs that of its
// point. Digest returns a hash of the content in a slot, by which some of equally near neighbours are chosen.
type Signatures interface {
	Signature(slot uint32, l signature.Level, into *signature.Signature)
	Digest(slot uint32) uint64
}

// A Graph knows the signatures of contents by their slots: it keeps a sketch and the keys of the bands of each.
// Changes must not run beside other methods; searches may run side by side when [Graph.IsSettled].
type Graph struct {
	texts  Signatures
	memory int64
	usual  Limit // [UsualLimit], or less in tests
	kept   int   // leastKept, or less in tests
	levels [signature.Levels]index
}

// New returns an empty graph of contents whose signatures texts has: those that are added must be there until
// they are deleted. Sketches and keys are in memory as long as they take no more than their parts of memory.
func New(texts Signatures, memory int64) *Graph {
	g := &Graph{texts: texts, memory: memory, usual: UsualLimit, kept: leastKept}
	for l := range g.levels {
		g.levels[l] = newIndex(signature.Level(l), texts, memory)
	}
	return g
}

// MakeRoom moves to files what takes more memory than it may, before n contents are added, at most as many
// as [slots.Column.MakeRoom]. It is apart from Add so that all that can fail comes first. After an error
// the graph is as it was.
func (g *Graph) MakeRoom(n int) error {
	return cmp.Or(g.levels[signature.Long].makeRoom(n), g.levels[signature.Short].makeRoom(n))
}

// Err returns the error of the files.
func (g *Graph) Err() (err error) {
	for l := range g.levels {
		err = cmp.Or(err, g.levels[l].tail.failed())
	}
	return err
}

// Add adds the signatures of contents to slots that have none. It uses all processors.
func (g *Graph) Add(to []uint32, of []*signature.Set) {
	for l := range signature.Levels {
		var with []uint32
		var signatures []*signature.Signature
		for i, s := range of {
			if s.Has[l] {
				with, signatures = append(with, to[i]), append(signatures, &s.Of[l])
			}
		}
		x := &g.levels[l]
		x.add(with, func(i, ord int) {
			x.sketches.Set(uint32(ord), sketchOf(signatures[i]))
			x.tail.set(ord, signatures[i])
		})
	}
}

// Delete removes the signatures of a slot. It only marks them, in constant time; they leave the
// lists when runs are merged.
func (g *Graph) Delete(slot uint32) {
	for l := range g.levels {
		g.levels[l].remove(slot)
	}
}

// IsSettled reports whether Settle has nothing to do.
func (g *Graph) IsSettled() bool {
	return g.levels[signature.Long].isSettled() && g.levels[signature.Short].isSettled()
}

// IsNearlySettled reports whether Settle has little to do: more than half is sorted.
func (g *Graph) IsNearlySettled() bool {
	sorted, all := 0, 0
	for l := range g.levels {
		sorted, all = sorted+g.levels[l].tail.from, all+g.levels[l].size()
	}
	return 2*sorted > all
}

// Settle sorts what was added since the last call. It uses all processors. Its time is that of sorting, and each
// signature takes part in it a few times at most while their number doubles.
func (g *Graph) Settle() {
	for l := range g.levels {
		g.levels[l].settle()
	}
}

// has returns which signatures a slot has.
func (g *Graph) has(slot uint32) (has [signature.Levels]bool) {
	for l := range g.levels {
		has[l] = g.levels[l].has(slot)
	}
	return has
}

// isOther reports whether two contents are compared by another level: two that both have short signatures are
// compared by these alone. So each pair of neighbours belongs to one level, and its agreement is that of this level.
func (g *Graph) isOther(l signature.Level, a, b uint32) bool {
	short := &g.levels[signature.Short]
	return l == signature.Long && short.size() > 0 && short.has(a) && short.has(b)
}

// Snapshot returns the graph as it is now, with texts as they are now. It does not change, whatever happens to
// g. It takes little time and memory.
func (g *Graph) Snapshot(texts Signatures) *Graph {
	c := &Graph{texts: texts, memory: g.memory, usual: g.usual, kept: g.kept}
	for l := range g.levels {
		c.levels[l] = g.levels[l].snapshot()
		c.levels[l].texts = texts
	}
	return c
}

// MayBeNear reports whether two contents are neighbours if they share a band. It asks less than a search does,
// so it may be true of two that are not neighbours, but is never false of two that are.
func MayBeNear(a, b *signature.Set) bool {
	for l := range signature.Levels {
		if a.Has[l] && b.Has[l] {
			x, y := sketchOf(&a.Of[l]), sketchOf(&b.Of[l])
			if agreement(x.same(&y)) >= leastAgreement[l] {
				return true
			}
		}
	}
	return false
}

// A Point is a content from which a search starts: the one in a slot, or one that is in no slot, None.
type Point struct {
	Slot   uint32
	Digest uint64
	Set    *signature.Set // nil for one in a slot
}

// None is no slot.
const None = none

// At returns the point of a slot.
func (g *Graph) At(slot uint32) Point { return Point{Slot: slot} }

// A Near is a neighbour of a point.
type Near struct {
	Slot      uint32 // None for the guest
	Agreement int32  // in how many values the signatures agree, by their sketches
}
