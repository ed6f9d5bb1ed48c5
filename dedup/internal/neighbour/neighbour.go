// Package neighbour finds the neighbours of a text: those whose signatures agree in a band and, by an
// estimate, in more than a quarter of their features.
//
// Whether two texts are neighbours depends on these two alone, except in a [hub], where it depends on how
// many others share the band too. So documents that have nothing to do with a text change nothing about its
// neighbours, and neither does the order in which they came.
//
//	sketch.go     what is kept in memory of a signature
//	index.go      signatures of one level, in buckets
//	neighbour.go  the graph of all neighbours, and searches in it
//	join.go       all neighbours of all at once
package neighbour

import (
	"cmp"
	"slices"

	"github.com/neardup/neardup/dedup/internal/signature"
)

// leastAgreement is in how many of 128 values neighbours agree: a similarity of about 0.28 by pairs of words, and of 0.34 by
// runs of characters, which texts of one subject share by chance. With 32 and 40, and with 38 and 45, the sets in docs/dedup.md come
// out alike; but with less, chance finds neighbours for most of some million texts (docs/dedup.md).
var leastAgreement = [signature.Levels]int32{signature.Long: 36, signature.Short: 43}

// Signatures are where the signatures are, which take too much memory to be kept here: a search needs that of its point. Digest
// returns a hash of the content in a slot, by which some of equally near neighbours are chosen.
type Signatures interface {
	Signature(slot uint32, l signature.Level, into *signature.Signature)
	Digest(slot uint32) uint64
}

// A Graph knows the signatures of contents by their slots: it keeps a sketch and the keys of the bands of each. Changes must not
// run beside other methods; searches may run side by side when [Graph.IsSettled].
type Graph struct {
	texts  Signatures
	memory int64
	levels [signature.Levels]index
}

// New returns an empty graph of contents whose signatures texts has: those that are added must be there until they are deleted.
// Sketches and keys are in memory as long as they take a part of so many bytes.
func New(texts Signatures, memory int64) *Graph {
	g := &Graph{texts: texts, memory: memory}
	for l := range g.levels {
		x := &g.levels[l]
		x.level, x.hub = signature.Level(l), hub
		x.sketches.memory, x.tail.memory = max(memory/sketchShare, leastMemory), min(max(memory/keyShare, leastMemory), mostKeys)
	}
	return g
}

// Sketches are looked at in any order, but keys in their order, so that they may as well be in a file.
const (
	sketchShare = 8
	keyShare    = 16
	leastMemory = 1 << 20
	mostKeys    = 64 << 20
)

// MakeRoom moves to files what takes more memory than it may, before something is added. After an error the graph is as it was.
func (g *Graph) MakeRoom() error {
	return cmp.Or(g.levels[signature.Long].makeRoom(), g.levels[signature.Short].makeRoom())
}

// Err returns the error of the files.
func (g *Graph) Err() (err error) {
	for l := range g.levels {
		err = cmp.Or(err, g.levels[l].sketches.file.Err(), g.levels[l].tail.file.Err())
	}
	return err
}

// Add adds the signatures of a content to a slot that has none.
func (g *Graph) Add(slot uint32, s *signature.Set) {
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

// IsNearlySettled reports whether Settle has little to do: most is sorted.
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

// isOther reports whether two contents are compared by another level: two that both have short signatures are compared by these alone.
func (g *Graph) isOther(l signature.Level, a, b uint32) bool {
	short := &g.levels[signature.Short]
	return l == signature.Long && short.size() > 0 && short.has(a) && short.has(b)
}

// Snapshot returns the graph as it is now, with texts as they are now. It does not change, whatever happens to g. It takes
// little time and memory.
func (g *Graph) Snapshot(texts Signatures) *Graph {
	c := &Graph{texts: texts, memory: g.memory}
	for l := range g.levels {
		c.levels[l] = g.levels[l].snapshot()
	}
	return c
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

// A Searcher searches a settled graph, for one goroutine. It may see the graph with a guest, a content that is
// not in it, and without the content of a slot: as it would be after an addition and a deletion.
type Searcher struct {
	graph   *Graph
	guest   *Point                     // nil if there is none
	without uint32                     // None if there is none
	seen    [signature.Levels][]uint64 // by ordinal, a bit for what was seen in this search
	touched []uint32                   // the ordinals of these
	found   []Near
	buckets []bucket // of one band
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

// digest returns the digest of a neighbour.
func (s *Searcher) digest(n Near) uint64 {
	if n.Slot == None {
		return s.guest.Digest
	}
	return s.graph.texts.Digest(n.Slot)
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
	q := query{Searcher: s, index: &s.graph.levels[l], hasShort: has[signature.Short], self: none, without: none}
	q.begin()
	var of signature.Signature
	if p.Set != nil {
		of = p.Set.Of[l]
	} else {
		q.self = q.ordinal(p.Slot)
		s.graph.texts.Signature(p.Slot, l, &of)
		q.see(q.self)
		if s.guest != nil && s.guest.Set.Has[l] {
			q.guestOf = &s.guest.Set.Of[l]
			k := sketchOf(q.guestOf)
			q.guest = &k
		}
	}
	q.of = sketchOf(&of)
	if s.without != None {
		q.without = q.ordinal(s.without)
	}
	guestShares := false
	for band := range bands {
		key := keyOf(&of, band)
		size := q.look(band, key)
		agree := q.mustAgree(band, key, size)
		q.takeSorted(band, agree)
		q.takeUnsorted(band, key, agree)
		guestShares = guestShares || q.guestShares(band, key, agree)
	}
	if guestShares && !q.isOther(s.guest.Set.Has[signature.Short]) {
		if a := agreement(q.of.same(q.guest)); a >= leastAgreement[l] {
			q.found = append(q.found, Near{None, a})
		}
	}
}

// A query is a search by one level.
type query struct {
	*Searcher
	*index
	of            sketch
	hasShort      bool    // the point has a short signature
	guest         *sketch // nil if there is none, or it is the point
	guestOf       *signature.Signature
	self, without uint32 // the ordinals of the point and of the one that is left out, or none
}

// begin begins a search: nothing has been seen in it.
func (q *query) begin() {
	seen := &q.seen[q.level]
	for _, ord := range q.touched {
		for l := range q.Searcher.seen { // they may be of the other level
			if at := int(ord / 64); at < len(q.Searcher.seen[l]) {
				q.Searcher.seen[l][at] = 0
			}
		}
	}
	q.touched = q.touched[:0]
	if n := q.size()/64 + 1; len(*seen) < n {
		*seen = make([]uint64, n+n/8)
	}
}

// see takes note of an ordinal, and reports whether it was seen before.
func (q *query) see(ord uint32) (before bool) {
	at := &q.seen[q.level][ord/64]
	if *at>>(ord%64)&1 > 0 {
		return true
	}
	*at |= 1 << (ord % 64)
	q.touched = append(q.touched, ord)
	return false
}

// look finds the buckets of a band in all runs, and returns how many entries they have.
func (q *query) look(band int, key uint32) (size int) {
	q.buckets = q.buckets[:0]
	for r := range q.runs {
		if b := bucketOf(&q.runs[r].lists[band], key); b.len() > 0 {
			q.buckets = append(q.buckets, b)
			size += b.len()
		}
	}
	return size
}

// mustAgree returns in how many values from the beginning of a band neighbours must agree, beside the key: 0, or more in
// a hub. In a bucket keys agree, and so do nearly always the values.
func (q *query) mustAgree(band int, key uint32, size int) (agree int) {
	if size+q.tail.n < q.hub {
		return 0
	}
	for _, agree = range agreements {
		if q.count(band, key, agree) <= q.hub {
			break
		}
	}
	return agree
}

// takeSorted takes the neighbours in the buckets of a band.
func (q *query) takeSorted(band, agree int) {
	for _, b := range q.buckets {
		if b.len() > q.hub && agree > 0 {
			b = q.narrow(b, &q.of, band, agree)
		}
		for i := range b.len() {
			q.take(b.ord(i), band, agree)
		}
	}
}

// takeUnsorted takes the neighbours that are in no run.
func (q *query) takeUnsorted(band int, key uint32, agree int) {
	q.tail.rows(band, func(first uint32, row []uint32) {
		for i, other := range row {
			if other == key {
				q.take(first+uint32(i), band, agree)
			}
		}
	})
}

// isOther reports whether a content is compared with the point by the other level: two that both have short signatures are
// compared by these alone.
func (q *query) isOther(hasShort bool) bool {
	return q.level == signature.Long && q.hasShort && hasShort
}

// guestShares reports whether there is a guest that agrees with the point in the first n values from the beginning of a band.
func (q *query) guestShares(band int, key uint32, n int) bool {
	return q.guest != nil && keyOf(q.guestOf, band) == key && compareFrom(q.guest, &q.of, band, n) == 0
}

// take appends what an ordinal stands for, if it is a neighbour and has not been seen yet.
func (q *query) take(ord uint32, band, agree int) {
	var k sketch
	q.sketches.at(ord, &k)
	same := q.of.same(&k)
	if agreement(same) < leastAgreement[q.level] {
		return
	}
	slot := q.slot(ord)
	if slot == none || ord == q.without || q.isOther(q.graph.levels[signature.Short].has(slot)) {
		return
	}
	if compareFrom(&k, &q.of, band, agree) == 0 && !q.see(ord) { // or else it may share another band
		q.found = append(q.found, Near{slot, agreement(same)})
	}
}

// count returns how many signatures agree with that of the point, itself included, in the first n values from the
// beginning of a band.
func (q *query) count(band int, key uint32, n int) (size int) {
	count := func(ord uint32) {
		if slot := q.slot(ord); slot != none && ord != q.without {
			var k sketch
			if q.sketches.at(ord, &k); compareFrom(&k, &q.of, band, n) == 0 {
				size++
			}
		}
	}
	for _, b := range q.buckets {
		if b.len() > q.hub {
			if b = q.narrow(b, &q.of, band, n); q.deleted == 0 && q.without == none {
				size += b.len()
				continue
			}
		}
		for i := range b.len() {
			count(b.ord(i))
		}
	}
	q.tail.rows(band, func(first uint32, row []uint32) {
		for i, other := range row {
			if other == key {
				count(first + uint32(i))
			}
		}
	})
	if q.guestShares(band, key, n) {
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

// Nearest returns the neighbourhood of a point among its neighbours, the first ones by Sort. It reorders near, of which the result is
// a part.
func (s *Searcher) Nearest(near []Near) []Near {
	near = s.Sort(near, most)
	return near[:min(len(near), most)]
}

// Sort sorts the nearest n neighbours, and those that are as near, and returns them; the others stay behind them, in any order. Those that agree
// in the most values come first, and of equally near ones those with the smallest digests, so that the order of adding makes no difference.
// So who wants few of many need not wait for the others.
func (s *Searcher) Sort(near []Near, n int) []Near {
	if len(near) > n {
		var agree [signature.Values + 1]int
		for _, x := range near {
			agree[x.Agreement]++
		}
		least, sum := int32(signature.Values), agree[signature.Values]
		for ; sum < n; sum += agree[least] {
			least--
		}
		at := 0
		for i, x := range near {
			if x.Agreement >= least {
				near[i], near[at] = near[at], x
				at++
			}
		}
		near = near[:at]
	}
	slices.SortFunc(near, func(a, b Near) int {
		return cmp.Or(cmp.Compare(b.Agreement, a.Agreement), cmp.Compare(s.digest(a), s.digest(b)), cmp.Compare(a.Slot, b.Slot))
	})
	return near
}
