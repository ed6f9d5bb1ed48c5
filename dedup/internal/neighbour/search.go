package neighbour

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"github.com/neardup/neardup/dedup/internal/signature"
)

// This file finds the neighbours of one content: those that share a band with it and agree in enough values,
// and puts the nearest ones first.
//
// A search looks into the bucket of each of 42 bands, in every run and in the tail. A content in several
// buckets is compared once. In a crowd, more than a limit in one bucket, only the window of that bucket counts.
//
// A guest is in no list, so each step asks whether it belongs to the bucket at hand; and what is left out,
// as if it were deleted, is passed over in each step. It must come out as if the graph had been changed,
// crowds and windows included.

// A Searcher searches a settled graph, for one goroutine. It may see the graph with a guest, a content that is
// not in it, and without the content of a slot: as it would be after an addition and a deletion.
type Searcher struct {
	graph   *Graph
	lists   *Lists // nil, or what a search begins with
	guest   *Point // nil if there is none
	without uint32 // None if there is none
	looked  [signature.Levels]looked
	samples map[sample][]candidate
	found   []Near
	enough  int             // a search ends when it has found more
	buckets []bucket        // of one band
	window  []candidate     // of one band
	guesses [][bands]uint32 // by run, about where the keys of the point are
}

// NewSearcher returns a searcher. guest may be nil, and without None.
func (g *Graph) NewSearcher(guest *Point, without uint32) *Searcher {
	s := &Searcher{}
	s.Reset(g, guest, without)
	return s
}

// Reset makes s a searcher as [Graph.NewSearcher] returns it, in the memory that s has.
func (s *Searcher) Reset(g *Graph, guest *Point, without uint32) {
	clear(s.buckets[:cap(s.buckets)]) // so that nothing keeps old runs
	*s = Searcher{graph: g, guest: guest, without: without, looked: s.looked, found: s.found[:0], buckets: s.buckets[:0], window: s.window[:0], guesses: s.guesses}
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

// A Limit is how many contents may share a band. If more do, a content has as neighbours only those in
// its window.
type Limit int

// Neighbours returns all neighbours of a point, in no particular order but always the same, and whether it is
// in a crowd of more than most. The slice is valid until the next call. It takes time for those that share a
// band, or are in a window.
func (s *Searcher) Neighbours(p Point, most Limit) (near []Near, isCrowded bool) {
	near, isCrowded, _ = s.NeighboursUpTo(p, most, math.MaxInt)
	return near, isCrowded
}

// NeighboursUpTo is Neighbours for a caller who needs only to know whether there are more than enough: then
// isWhole is false, and near lacks some. It stops after the band in which there were enough, so in a crowd
// it looks at few bands.
//
// With lists it answers from these, and searches only what they lack: the dense buckets, and beyond
// the window in large ones.
func (s *Searcher) NeighboursUpTo(p Point, most Limit, enough int) (near []Near, isCrowded, isWhole bool) {
	s.found, s.enough = s.found[:0], enough
	if s.lists != nil {
		s.found = append(s.found, s.lists.Of(p.Slot)...)
		if isLarge := s.lists.isLarge(p.Slot); !s.lists.IsDense(p.Slot) && (most != NoLimit || !isLarge) {
			return s.found, isLarge, true
		}
	}
	isCrowded = s.search(p, most)
	return s.found, isCrowded, len(s.found) <= enough
}

// search appends the neighbours of a point to those that were found before.
func (s *Searcher) search(p Point, most Limit) (isCrowded bool) {
	has := s.has(&p)
	for l := range signature.Levels {
		if has[l] && s.searchLevel(l, &p, has, int(most)) {
			isCrowded = true
		}
	}
	return isCrowded
}

// searchLevel is search in one level.
func (s *Searcher) searchLevel(l signature.Level, p *Point, has [signature.Levels]bool, most int) (isCrowded bool) {
	q := s.query(l, p, has)
	q.looked.begin(q.size())
	for _, n := range q.found { // by the lists, or by the other level
		if ord := q.ordinal(n.Slot); ord != none {
			q.looked.add(ord)
		}
	}
	q.guess()
	for band := range bands {
		if len(s.found) > s.enough {
			break
		}
		key := q.keys[band]
		q.look(band, key)
		if q.isCrowd(band, key, most) {
			isCrowded = true
			q.takeWindow(band, key)
		} else {
			q.takeAll(band, key)
		}
	}
	return isCrowded
}

// query returns a search by one level, which has not begun. It reads the signature of the point, unless the
// point brings it. If that cannot be read it is zero, and the file of the texts has the error.
func (s *Searcher) query(l signature.Level, p *Point, has [signature.Levels]bool) *query {
	q := &query{Searcher: s, index: &s.graph.levels[l], looked: &s.looked[l], hasShort: has[signature.Short], self: none, without: none}
	if p.Set != nil {
		q.signature, q.digest = p.Set.Of[l], p.Digest
	} else {
		q.self = q.ordinal(p.Slot)
		s.graph.texts.Signature(p.Slot, l, &q.signature)
		q.digest = s.graph.texts.Digest(p.Slot)
		if s.guest != nil && s.guest.Set.Has[l] {
			q.guestOf = &s.guest.Set.Of[l]
			q.guest.sketch, q.guest.digest, q.guest.ord = sketchOf(q.guestOf), s.guest.Digest, none
		}
	}
	q.of = sketchOf(&q.signature)
	if s.without != None {
		q.without = q.ordinal(s.without)
	}
	return q
}

// A sample is some of those that share a band, in a crowd of more than [UsualLimit].
type sample struct {
	level signature.Level
	band  int
	key   uint32
}

// sampled is how many are in a sample: enough that neighbours are left when the others are taken off.
const sampled = 64

// Sample returns neighbours of a point in a crowd of more than [UsualLimit], at random: those with the smallest
// digests, ascending, in the first band that so many share. There are none without such a crowd. It takes time
// for the crowd, but only once for each bucket as long as the searcher is not reset. Digests are hashes, so the
// sample is random, and yet it is the same for all signatures in the bucket and in any order of adding.
func (s *Searcher) Sample(p Point) (near []Near) {
	has := s.has(&p)
	for l := range signature.Levels {
		if !has[l] {
			continue
		}
		q := s.query(l, &p, has)
		q.guess()
		for band := range bands {
			key := q.keys[band]
			if q.look(band, key); !q.isCrowd(band, key, int(s.graph.usual)) {
				continue
			}
			for _, c := range q.sample(band, key) {
				slot, hasShort := None, s.guest != nil && s.guest.Set.Has[signature.Short]
				if c.ord != none {
					slot = q.slot(c.ord)
					hasShort = s.graph.levels[signature.Short].has(slot)
				}
				if a := agreement(q.of.same(&c.sketch)); slot != p.Slot && a >= leastAgreement[l] && !q.isOther(hasShort) {
					near = append(near, Near{slot, a})
				}
			}
			return near
		}
	}
	return nil
}

// sample returns those that share a band and have the smallest digests, ascending.
func (q *query) sample(band int, key uint32) []candidate {
	of := sample{q.level, band, key}
	if all, ok := q.samples[of]; ok {
		return all
	}
	var all []candidate
	add := func(ord uint32) {
		if q.isThere(ord) {
			all = append(all, candidate{digest: q.index.digest(ord), ord: ord})
		}
	}
	for _, b := range q.buckets {
		for i := range b.len() {
			add(b.ord(i))
		}
	}
	q.eachUnsorted(band, key, add)
	if q.guestShares(band, key) {
		all = append(all, q.guest)
	}
	if q.self == none {
		all = append(all, candidate{q.of, q.digest, none})
	}
	slices.SortFunc(all, func(a, b candidate) int { return cmp.Compare(a.digest, b.digest) })
	all = slices.Clone(all[:min(len(all), sampled)])
	for i := range all {
		if all[i].ord != none {
			all[i].sketch = *q.sketches.At(all[i].ord)
		}
	}
	if q.samples == nil {
		q.samples = map[sample][]candidate{}
	}
	q.samples[of] = all
	return all
}

// A query is a search by one level.
type query struct {
	*Searcher
	*index
	*looked
	signature     signature.Signature
	of            sketch // its sketch
	digest        uint64
	hasShort      bool                 // the point has a short signature
	guest         candidate            // if guestOf is not nil
	guestOf       *signature.Signature // nil if there is none, or it is the point
	guestTaken    bool
	self, without uint32 // the ordinals of the point and of the one that is left out, or none
	keys          [bands]uint32
}

// guess sets the keys of the point, and guesses where they are in all runs.
func (q *query) guess() {
	for band := range bands {
		q.keys[band] = keyOf(&q.signature, band)
	}
	q.guesses = slices.Grow(q.guesses[:0], len(q.runs))[:len(q.runs)]
	for r := range q.runs {
		q.runs[r].guess(&q.keys, &q.guesses[r])
	}
}

// look finds the buckets of a band in all runs.
func (q *query) look(band int, key uint32) {
	q.buckets = q.buckets[:0]
	for r := range q.runs {
		if b := bucketOf(&q.runs[r].lists[band], key, int(q.guesses[r][band])); b.len() > 0 {
			q.buckets = append(q.buckets, b)
		}
	}
}

// eachUnsorted calls use with the ordinals that are in no run and share a band.
func (q *query) eachUnsorted(band int, key uint32, use func(ord uint32)) {
	q.tail.rows(band, func(first uint32, row []uint32) {
		for i, other := range row {
			if other == key {
				use(first + uint32(i))
			}
		}
	})
}

// isThere reports whether an ordinal has a content in this search: it was not deleted, and is not left out.
func (q *query) isThere(ord uint32) bool { return q.slot(ord) != none && ord != q.without }

// isCrowd reports whether more than most share a band, the point itself included. What was deleted must not
// count, or else the result would depend on it. Counting takes time for the bucket, so it first rules out small
// ones by an upper limit.
func (q *query) isCrowd(band int, key uint32, most int) bool {
	size := q.tail.n + 2 // at most, with the point and a guest
	for _, b := range q.buckets {
		size += b.len()
	}
	if size <= most {
		return false
	}
	size = 0
	for _, b := range q.buckets {
		if q.dead.Len() == 0 && q.without == none {
			size += b.len()
			continue
		}
		for i := 0; i < b.len() && size <= most; i++ {
			if q.isThere(b.ord(i)) {
				size++
			}
		}
	}
	q.eachUnsorted(band, key, func(ord uint32) {
		if q.isThere(ord) {
			size++
		}
	})
	if q.guestShares(band, key) {
		size++
	}
	if q.self == none { // the point is in no list
		size++
	}
	return size > most
}

// takeAll takes all that share a band.
func (q *query) takeAll(band int, key uint32) {
	for _, b := range q.buckets {
		for from := b.from; from < b.to; {
			part := b.list.Chunk(from)
			part = part[:min(len(part), b.to-from)]
			for _, e := range part {
				if !q.looked.has(uint32(e)) { // in a crowd, nearly all were looked at in another band
					q.take(uint32(e))
				}
			}
			from += len(part)
		}
	}
	q.eachUnsorted(band, key, q.take)
	if q.guestShares(band, key) {
		q.takeGuest()
	}
}

// A candidate is one of those that share a band.
type candidate struct {
	sketch
	digest uint64
	ord    uint32 // none for the guest
}

// compare compares two candidates as [index.compare] does.
func (c *candidate) compare(other *candidate, band int) int {
	return cmp.Or(compareFrom(&c.sketch, &other.sketch, band), cmp.Compare(c.digest, other.digest))
}

// takeWindow takes those that are next to the point in the order of all values, on each side. If all of the
// bucket is in one run, that has the order. Otherwise the window of each run is taken, with everything that is
// not in order, and the window of these is that of the whole bucket.
func (q *query) takeWindow(band int, key uint32) {
	isAlone := len(q.buckets) == 1 && q.buckets[0].len() > fewest && !q.guestShares(band, key)
	q.eachUnsorted(band, key, func(uint32) { isAlone = false })
	if isAlone {
		q.eachNext(q.buckets[0], band, q.take)
		return
	}
	q.window = q.window[:0]
	add := func(ord uint32) {
		if ord != q.self && q.isThere(ord) {
			q.window = append(q.window, candidate{*q.sketches.At(ord), q.index.digest(ord), ord})
		}
	}
	for _, b := range q.buckets {
		if b.len() > fewest {
			q.eachNext(b, band, add)
			continue
		}
		for i := range b.len() {
			add(b.ord(i))
		}
	}
	q.eachUnsorted(band, key, add)
	if q.guestShares(band, key) {
		q.window = append(q.window, q.guest)
	}
	self := candidate{q.of, q.digest, q.self}
	slices.SortFunc(q.window, func(a, b candidate) int { return a.compare(&b, band) })
	at, _ := slices.BinarySearchFunc(q.window, &self, func(c candidate, p *candidate) int { return c.compare(p, band) })
	for _, c := range q.window[max(at-window, 0):min(at+window, len(q.window))] {
		if c.ord == none {
			q.takeGuest()
			continue
		}
		q.take(c.ord)
	}
}

// eachNext calls use for those that are next to the point in a bucket that is in order, up to window on each side.
// Those that are not there any more are passed over and do not count, as if they had never been in the bucket.
func (q *query) eachNext(b bucket, band int, use func(ord uint32)) {
	at := q.place(b, band)
	for _, step := range [2]int{-1, 1} {
		i := at
		if step < 0 {
			i--
		}
		for n := 0; n < window && i >= 0 && i < b.len(); i += step {
			if ord := b.ord(i); ord != q.self && q.isThere(ord) {
				use(ord)
				n++
			}
		}
	}
}

// place returns where the point is, or would be, in a bucket that is in order.
func (q *query) place(b bucket, band int) int {
	return sort.Search(b.len(), func(i int) bool {
		ord := b.ord(i)
		if ord == q.self {
			return true
		}
		if n := compareFrom(q.sketches.At(ord), &q.of, band); n != 0 {
			return n > 0
		}
		return q.index.digest(ord) >= q.digest
	})
}

// isOther reports whether a content is compared with the point by the other level: two that both have short
// signatures are compared by these alone.
func (q *query) isOther(hasShort bool) bool {
	return q.level == signature.Long && q.hasShort && hasShort
}

// guestShares reports whether there is a guest that shares a band.
func (q *query) guestShares(band int, key uint32) bool {
	return q.guestOf != nil && keyOf(q.guestOf, band) == key
}

// takeGuest appends the guest, if it is a neighbour and was not found in an earlier band.
func (q *query) takeGuest() {
	if a := agreement(q.of.same(&q.guest.sketch)); a >= leastAgreement[q.level] && !q.guestTaken && !q.isOther(q.Searcher.guest.Set.Has[signature.Short]) {
		q.found = append(q.found, Near{None, a})
		q.guestTaken = true
	}
}

// take appends the content of an ordinal, if it is a neighbour and has not been looked at yet.
func (q *query) take(ord uint32) {
	if ord == q.self || !q.looked.add(ord) {
		return
	}
	a := agreement(q.of.same(q.sketches.At(ord)))
	if a < leastAgreement[q.level] || !q.isThere(ord) {
		return
	}
	if slot := q.slot(ord); !q.isOther(q.graph.levels[signature.Short].has(slot)) {
		q.found = append(q.found, Near{slot, a})
	}
}

// Nearest returns the neighbourhood of a point among its neighbours, the first ones by Sort. It reorders near,
// of which the result is a part.
func (s *Searcher) Nearest(near []Near) []Near {
	near = s.Sort(near, Most)
	return near[:min(len(near), Most)]
}

// Sort sorts the nearest n neighbours, and those that are as near, and returns them; the others come after them
// in near, in any order. Those that agree in the most values come first, and of equally near ones those with
// the smallest digests, so that the order of adding makes no difference. There are few different agreements, so
// it counts them to find out which neighbours belong to the nearest n, in linear time, and sorts only these.
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

// Some returns up to n neighbours at random: those with the smallest digests, ascending. n is
// small, so it inserts them.
func (s *Searcher) Some(near []Near, n int) (some []Near) {
	var digests []uint64 // of some
	for _, x := range near {
		d := s.digest(x)
		if at, _ := slices.BinarySearch(digests, d); at < n {
			digests, some = slices.Insert(digests, at, d), slices.Insert(some, at, x)
			digests, some = digests[:min(len(digests), n)], some[:min(len(some), n)]
		}
	}
	return some
}
