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
	guest   *Point                     // nil if there is none
	without uint32                     // None if there is none
	seen    [signature.Levels][]uint32 // by ordinal, the search in which it was last seen
	now     uint32                     // the search
	found   []Near
	buckets [][]uint64 // of one band
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
	q := query{Searcher: s, index: &s.graph.levels[l], level: l, of: s.signature(p, l), hasShort: has[signature.Short], self: none, without: none}
	q.mark()
	if p.Set == nil {
		q.self = q.ordinals[p.Slot]
		q.seen[l][q.self] = s.now
		if s.guest != nil && s.guest.Set.Has[l] {
			q.guest = s.signature(s.guest, l)
		}
	}
	if s.without != None && q.index.has(s.without) {
		q.without = q.ordinals[s.without]
	}
	guestShares := false
	for band := range bands {
		hash := hashOf(q.of, band)
		size := q.look(band, hash)
		agree := q.mustAgree(band, size)
		q.takeSorted(band, agree)
		q.takeUnsorted(band, hash, agree)
		guestShares = guestShares || q.guest != nil && hashOf(q.guest, band) == hash && compareFrom(q.guest, q.of, band, agree) == 0
	}
	if guestShares {
		q.found = q.append(q.found, None, s.guest.Set.Has[signature.Short], q.guest)
	}
}

// A query is a search by one level.
type query struct {
	*Searcher
	*index
	level         signature.Level
	of            *signature.Signature
	hasShort      bool                 // the point has a short signature
	guest         *signature.Signature // nil if there is none, or it is the point
	self, without uint32               // the ordinals of the point and of the one that is left out, or none
}

// mark begins a search: nothing has been seen in it.
func (q *query) mark() {
	if seen := &q.seen[q.level]; len(*seen) < len(q.signatures) {
		*seen = make([]uint32, len(q.signatures)+len(q.signatures)/8)
	}
	q.now++
	if q.now == 0 { // after 2³² searches
		for l := range q.seen {
			clear(q.seen[l])
		}
		q.now = 1
	}
}

// look finds the buckets of a band in all runs, and returns how many entries they have.
func (q *query) look(band int, hash uint32) (size int) {
	q.buckets = q.buckets[:0]
	for r := range q.runs {
		if b := bucket(q.runs[r].lists[band], hash); len(b) > 0 {
			q.buckets = append(q.buckets, b)
			size += len(b)
		}
	}
	return size
}

// mustAgree returns in how many values from the beginning of a band neighbours must agree, beside the hash: 0, or more in
// a hub. In a bucket hashes agree, and so do nearly always the values.
func (q *query) mustAgree(band, size int) (agree int) {
	if size+len(q.signatures)-q.sorted < hub {
		return 0
	}
	for _, agree = range agreements {
		if q.count(band, agree) <= hub {
			break
		}
	}
	return agree
}

// takeSorted takes the neighbours in the buckets of a band.
func (q *query) takeSorted(band, agree int) {
	for _, b := range q.buckets {
		if len(b) > hub && agree > 0 {
			b = q.narrow(b, q.of, band, agree)
		}
		for _, e := range b {
			if ord := uint32(e); q.seen[q.level][ord] != q.now && compareFrom(&q.signatures[ord], q.of, band, agree) == 0 {
				q.take(ord)
			}
		}
	}
}

// takeUnsorted takes the neighbours that are in no run.
func (q *query) takeUnsorted(band int, hash uint32, agree int) {
	for ord := q.sorted; ord < len(q.signatures); ord++ {
		x := &q.signatures[ord]
		if q.seen[q.level][ord] != q.now && hashOf(x, band) == hash && compareFrom(x, q.of, band, agree) == 0 {
			q.take(uint32(ord))
		}
	}
}

// take appends a signature that has not been seen yet, if it is a neighbour.
func (q *query) take(ord uint32) {
	slot := q.slots[ord]
	if slot == none || ord == q.without {
		return
	}
	q.seen[q.level][ord] = q.now
	q.found = q.append(q.found, slot, q.graph.levels[signature.Short].has(slot), &q.signatures[ord])
}

// append appends a slot, if its signature agrees in enough values. Two that both have short signatures are compared by
// these alone.
func (q *query) append(found []Near, slot uint32, hasShort bool, x *signature.Signature) []Near {
	if q.level == signature.Long && q.hasShort && hasShort {
		return found
	}
	if a := q.of.Agreement(x); a >= leastAgreement[q.level] {
		found = append(found, Near{slot, a})
	}
	return found
}

// count returns how many signatures agree with that of the point, itself included, in the first n values from the
// beginning of a band.
func (q *query) count(band, n int) (size int) {
	agrees := func(ord uint32) {
		if q.slots[ord] != none && ord != q.without && compareFrom(&q.signatures[ord], q.of, band, n) == 0 {
			size++
		}
	}
	for _, b := range q.buckets {
		if len(b) > hub {
			if b = q.narrow(b, q.of, band, n); q.deleted == 0 && q.without == none {
				size += len(b)
				continue
			}
		}
		for _, e := range b {
			agrees(uint32(e))
		}
	}
	for ord := q.sorted; ord < len(q.signatures); ord++ {
		agrees(uint32(ord))
	}
	if q.guest != nil && compareFrom(q.guest, q.of, band, n) == 0 {
		size++
	}
	if q.self == none { // the point is in no list
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
