// Package neighbour finds the neighbours of a text: those whose signatures agree in a band and, by an
// estimate, in at least a fifth of their features.
//
// Whether two texts are neighbours depends on these two alone, except in a [hub], where it depends on how
// many others share the band too. So documents that have nothing to do with a text change nothing about its
// neighbours, and neither does the order in which they came.
//
//	index.go      signatures of one level, in buckets
//	neighbour.go  the graph of all neighbours, and searches in it
//	place.go      what the neighbours of a text say about it
package neighbour

import (
	"cmp"
	"slices"
	"sync/atomic"

	"github.com/neardup/neardup/dedup/internal/signature"
)

// leastAgreement is in how many of 128 values neighbours agree: a similarity of about 0.25 by pairs of words, and of 0.31 by
// runs of characters, which texts of one subject share by chance. In 14 collections with truth, two of 6,600
// near-duplicates share less (docs/dedup.md).
var leastAgreement = [signature.Levels]int{signature.Long: 32, signature.Short: 40}

// A Graph knows the signatures of contents by their slots. Changes must not run beside other methods; searches
// may run side by side when [Graph.IsSettled].
type Graph struct {
	levels  [signature.Levels]index
	digests []uint64 // by slot, of the content
}

// Add adds the signatures of a content to a slot that has none. digest is a hash of the content, by which
// some of equally near neighbours are chosen.
func (g *Graph) Add(slot uint32, digest uint64, s *signature.Set) {
	for len(g.digests) <= int(slot) {
		g.digests = append(g.digests, 0)
	}
	g.digests[slot] = digest
	for l := range signature.Levels {
		if s.Has[l] {
			g.levels[l].add(slot, &s.Of[l])
		}
	}
}

// Delete removes the signatures of a slot.
func (g *Graph) Delete(slot uint32) {
	for l := range g.levels {
		g.levels[l].remove(slot)
	}
}

// IsSettled reports whether Settle has nothing to do.
func (g *Graph) IsSettled() bool {
	return g.levels[signature.Long].isSettled() && g.levels[signature.Short].isSettled()
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

// Snapshot returns the graph as it is now. It does not change, whatever happens to g. It takes time and memory for some
// bytes of each slot, not for the signatures.
func (g *Graph) Snapshot() *Graph {
	c := &Graph{digests: slices.Clone(g.digests)}
	for l := range g.levels {
		c.levels[l] = g.levels[l].snapshot()
	}
	return c
}

// MayHave returns for each slot whether it may have neighbours; the others have none. It changes the graph as Settle does, and
// uses all processors.
func (g *Graph) MayHave() (may []atomic.Bool) {
	may = make([]atomic.Bool, len(g.digests))
	for l := range signature.Levels {
		g.levels[l].compact()
		g.levels[l].mark(leastAgreement[l], may)
	}
	return may
}

// A Point is a content from which a search starts: the one in a slot, or one that is in no slot, None.
type Point struct {
	Slot   uint32
	Digest uint64
	Set    *signature.Set // nil for one in a slot
}

// None is no slot.
const None = none

// Set returns the signatures of a slot.
func (g *Graph) Set(slot uint32) (set signature.Set) {
	for l := range signature.Levels {
		if g.levels[l].has(slot) {
			set.Has[l], set.Of[l] = true, *g.levels[l].of(slot)
		}
	}
	return set
}

// At returns the point of a slot.
func (g *Graph) At(slot uint32) Point { return Point{Slot: slot, Digest: g.digests[slot]} }

// A Near is a neighbour of a point.
type Near struct {
	Slot      uint32 // None for the guest
	Agreement int    // in how many values the signatures agree
}

// A Searcher searches a settled graph, for one goroutine. It may see the graph with a guest, a content that is
// not in it, and without the content of a slot: as it would be after an addition and a deletion.
type Searcher struct {
	graph   *Graph
	guest   *Point // nil if there is none
	without uint32 // None if there is none
	seen    [signature.Levels][]uint32
	now     uint32
	found   []Near
}

// NewSearcher returns a searcher. guest may be nil, and without None.
func (g *Graph) NewSearcher(guest *Point, without uint32) *Searcher {
	return &Searcher{graph: g, guest: guest, without: without}
}

// has returns which signatures a point has.
func (s *Searcher) has(p *Point) [signature.Levels]bool {
	if p.Set != nil {
		return p.Set.Has
	}
	return s.graph.has(p.Slot)
}

// Signature returns the signature of a point, or nil if it has none of this level.
func (s *Searcher) Signature(p Point, l signature.Level) *signature.Signature {
	if !s.has(&p)[l] {
		return nil
	}
	return s.signature(&p, l)
}

// SignatureOf is Signature for a neighbour.
func (s *Searcher) SignatureOf(n Near, l signature.Level) *signature.Signature {
	if n.Slot == None {
		return s.Signature(*s.guest, l)
	}
	return s.Signature(s.graph.At(n.Slot), l)
}

// signature returns a signature that a point has.
func (s *Searcher) signature(p *Point, l signature.Level) *signature.Signature {
	if p.Set != nil {
		return &p.Set.Of[l]
	}
	return s.graph.levels[l].of(p.Slot)
}

// digest returns the digest of a neighbour.
func (s *Searcher) digest(n Near) uint64 {
	if n.Slot == None {
		return s.guest.Digest
	}
	return s.graph.digests[n.Slot]
}

// Neighbours returns all neighbours of a point, in no particular order but always the same. The slice is valid
// until the next call.
func (s *Searcher) Neighbours(p Point) []Near {
	s.found = s.found[:0]
	has := s.has(&p)
	for l := range signature.Levels {
		if has[l] {
			s.search(l, &p, has)
		}
	}
	return s.found
}

// search appends the neighbours of a point by one level.
func (s *Searcher) search(l signature.Level, p *Point, has [signature.Levels]bool) {
	x := &s.graph.levels[l]
	if len(s.seen[l]) < len(x.signatures) {
		s.seen[l] = make([]uint32, len(x.signatures)+len(x.signatures)/8)
	}
	s.now++
	if s.now == 0 { // after 2³² searches
		for l := range s.seen {
			clear(s.seen[l])
		}
		s.now = 1
	}
	sig, self := s.signature(p, l), none
	if p.Set == nil {
		self = x.ordinals[p.Slot]
		s.seen[l][self] = s.now
	}
	without := none
	if s.without != None && x.has(s.without) {
		without = x.ordinals[s.without]
	}
	// The guest is looked at last, like the signatures that are in no run.
	var guest *signature.Signature
	if s.guest != nil && p.Set == nil {
		if has := s.has(s.guest); has[l] {
			guest = s.signature(s.guest, l)
		}
	}
	guestShares := false
	take := func(ord uint32) {
		if s.seen[l][ord] == s.now || x.slots[ord] == none || ord == without {
			return
		}
		s.seen[l][ord] = s.now
		if a := sig.Agreement(&x.signatures[ord]); a >= leastAgreement[l] {
			if slot := x.slots[ord]; l == signature.Short || !has[signature.Short] || !s.graph.levels[signature.Short].has(slot) {
				s.found = append(s.found, Near{slot, a})
			}
		}
	}
	var parts [][]uint64
	unsorted := x.signatures[x.sorted:]
	for band := range bands {
		hash, all := hashOf(sig, band), 0
		parts = parts[:0]
		for r := range x.runs {
			if b := bucket(x.runs[r].lists[band], hash); len(b) > 0 {
				parts = append(parts, b)
				all += len(b)
			}
		}
		// In a bucket, hashes agree, and so do nearly always the values.
		agree := 0
		if all+len(unsorted) >= hub {
			for _, n := range agreements {
				if agree = n; s.size(x, parts, sig, guest, band, n, self, without) <= hub {
					break
				}
			}
		}
		for _, b := range parts {
			if len(b) > hub && agree > 0 {
				b = x.narrow(b, sig, band, agree)
			}
			for _, e := range b {
				if ord := uint32(e); s.seen[l][ord] != s.now && compareFrom(&x.signatures[ord], sig, band, agree) == 0 {
					take(ord)
				}
			}
		}
		for i := range unsorted {
			if ord := uint32(x.sorted + i); s.seen[l][ord] != s.now && hashOf(&unsorted[i], band) == hash && compareFrom(&unsorted[i], sig, band, agree) == 0 {
				take(ord)
			}
		}
		guestShares = guestShares || guest != nil && hashOf(guest, band) == hash && compareFrom(guest, sig, band, agree) == 0
	}
	if guestShares {
		if a := sig.Agreement(guest); a >= leastAgreement[l] && (l == signature.Short || !has[signature.Short] || !s.guest.Set.Has[signature.Short]) {
			s.found = append(s.found, Near{None, a})
		}
	}
}

// size returns how many signatures agree with one, itself included, in the first n values from the beginning of a band.
func (s *Searcher) size(x *index, parts [][]uint64, sig, guest *signature.Signature, band, n int, self, without uint32) (size int) {
	count := func(ord uint32) {
		if x.slots[ord] != none && ord != without && compareFrom(&x.signatures[ord], sig, band, n) == 0 {
			size++
		}
	}
	for _, b := range parts {
		if len(b) > hub {
			if b = x.narrow(b, sig, band, n); x.deleted == 0 && without == none {
				size += len(b)
				continue
			}
		}
		for _, e := range b {
			count(uint32(e))
		}
	}
	for ord := x.sorted; ord < len(x.signatures); ord++ {
		count(uint32(ord))
	}
	if guest != nil && compareFrom(guest, sig, band, n) == 0 {
		size++
	}
	if self == none { // the point is in no list
		size++
	}
	return size
}

// most is how many neighbours make the neighbourhood of a content: so many that what most share is told from what few
// share, and so few that they are read soon.
const most = 64

// Nearest returns the neighbourhood of a point among its neighbours: those that agree in the most values, and of equally
// near ones those with the smallest digests, so that the order of adding makes no difference. It reorders near, of which
// the result is a part.
func (s *Searcher) Nearest(near []Near) []Near {
	slices.SortFunc(near, func(a, b Near) int {
		return cmp.Or(cmp.Compare(b.Agreement, a.Agreement), cmp.Compare(s.digest(a), s.digest(b)), cmp.Compare(a.Slot, b.Slot))
	})
	return near[:min(len(near), most)]
}
