package neighbour

import (
	"cmp"
	"context"
	"math/bits"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/neardup/neardup/internal/parallel"
)

// This file finds all neighbours of all contents at once. Looking each one up would take a search in each of 42
// bands, with cache misses in every one. Instead each band is sorted by itself, and the buckets are gone
// through in their order. The sketches of a bucket are copied side by side first, so that most pairs, which
// share the band by chance, cost a few nanoseconds. A pair is found in each band that it shares, so the pairs
// are collected in a set.
//
// In a bucket of a crowd, nearly all may be neighbours, and find each other again in every band. Such a
// dense bucket is kept for searches, and not gone through. The lists and the searches in these buckets
// together give the neighbours that a [Searcher] of the whole graph finds; nobody needs to know which of the
// two a neighbour comes from.
//
// Each goroutine takes one band at a time. They share only the set, whose 64 parts have a lock each.

// Lists are the neighbours of all contents, except for those who are neighbours in dense buckets alone.
type Lists struct {
	from   []uint32 // by slot, where its neighbours begin; one more at the end
	near   []Near
	crowds *Graph // with the buckets that are dense or large; nil if there are none
	dense  bitset // the slots that are in a dense bucket
	large  bitset // and those that are in one of more than [UsualLimit]
}

// Of returns the neighbours of a slot, by ascending slots, without those it meets in dense buckets alone.
// They must not be changed.
func (l *Lists) Of(slot uint32) []Near {
	if uint64(slot)+1 >= uint64(len(l.from)) { // a guest has the largest slot
		return nil
	}
	return l.near[l.from[slot]:l.from[slot+1]]
}

// IsDense reports whether a slot is in a dense bucket, so that its neighbours are searched for.
func (l *Lists) IsDense(slot uint32) bool { return l.dense.has(slot) }

// isLarge reports whether a slot is in a bucket of more than [UsualLimit].
func (l *Lists) isLarge(slot uint32) bool { return l.large.has(slot) }

// Crowded returns the slots that are in a dense bucket, or in one of more than [UsualLimit], ascending.
func (l *Lists) Crowded() (slots []uint32) {
	for i := range l.dense {
		for word := l.dense[i] | l.large[i]; word > 0; word &= word - 1 {
			slots = append(slots, uint32(i*64+bits.TrailingZeros64(word)))
		}
	}
	return slots
}

// Most returns the largest number of neighbours of a slot, without those it meets in dense buckets alone.
func (l *Lists) Most() (most int) {
	for i := 1; i < len(l.from); i++ {
		most = max(most, int(l.from[i]-l.from[i-1]))
	}
	return most
}

// NewSearcher returns a searcher of the graph g from which the lists are, for one goroutine. It finds the same as
// one of g, but g need not be settled: it searches only in the buckets that the lists kept, and these are in order.
func (l *Lists) NewSearcher(g *Graph) *Searcher {
	if l.crowds != nil {
		g = l.crowds
	}
	s := g.NewSearcher(nil, None)
	s.lists = l
	return s
}

// Bytes that a pair of neighbours takes while it is in the set, alone in a block, and, both
// ways round, in the lists.
const pairBytes = 60

// Join returns the neighbours of all contents. They are those that a [Searcher] finds. It uses all processors. It
// returns nil if they would take more than a part of the memory of the graph, so that they have to be searched
// for one by one, or if the context ends. tell, if not nil, is called with how many of the bands have been done.
func (g *Graph) Join(ctx context.Context, tell func(done, total int)) *Lists {
	found := &pairs{most: int(min(g.memory/listShare/pairBytes, 1<<31-1))}
	crowds := make([][bands]crowdBuckets, len(g.levels))
	n := 0
	var mu sync.Mutex
	if tell != nil {
		tell(0, bands*len(g.levels))
	}
	joins := sync.Pool{New: func() any { return &join{graph: g, found: found} }} // for each goroutine one, with its memory
	for l := range g.levels {
		x := &g.levels[l]
		parallel.Each(bands, func(b int) {
			if x.size() > x.dead.Len() {
				j := joins.Get().(*join)
				j.index, j.band, j.crowds = x, b, crowdBuckets{}
				j.run(ctx)
				crowds[l][b] = j.crowds
				joins.Put(j)
			}
			mu.Lock()
			defer mu.Unlock()
			if n++; tell != nil {
				tell(n, bands*len(g.levels))
			}
		})
	}
	if ctx.Err() != nil || found.isFull() {
		return nil
	}
	lists := found.lists()
	lists.add(g, crowds)
	return lists
}

// A crowdBuckets is the buckets of one band that are kept.
type crowdBuckets struct {
	list  []uint64
	dense []uint64 // a part of it
	large []uint64 // another one
}

// add adds the buckets of crowds, by level and band. They become a graph of their own, with one run that has
// nothing else, which shares sketches and slots with g.
func (l *Lists) add(g *Graph, crowds [][bands]crowdBuckets) {
	all := *g
	size := 0
	for _, x := range g.levels {
		size = max(size, x.ordinals.Len())
	}
	for level := range all.levels {
		x := &all.levels[level]
		var lists [bands][]uint64
		for b, c := range crowds[level] {
			if lists[b] = c.list; len(c.list) > 0 && l.crowds == nil {
				l.crowds, l.dense, l.large = &all, bitsFor(size), bitsFor(size)
			}
			x.mark(l.dense, c.dense)
			x.mark(l.large, c.large)
		}
		*x = x.only(&lists)
	}
}

// mark sets the bits of the slots of entries.
func (x *index) mark(slots bitset, entries []uint64) {
	for _, e := range entries {
		slots.add(x.slot(uint32(e)))
	}
}

// A bitset is a set of numbers.
type bitset []uint64

// bitsFor returns an empty set with room for numbers below n.
func bitsFor(n int) bitset { return make(bitset, n/64+1) }

// has reports whether a number is in the set.
func (b bitset) has(i uint32) bool { return int(i/64) < len(b) && b[i/64]>>(i%64)&1 > 0 }

// add adds a number for which there is room.
func (b bitset) add(i uint32) { b[i/64] |= 1 << (i % 64) }

// A join goes through the buckets of a band of one level.
type join struct {
	graph *Graph
	*index
	band     int
	found    *pairs
	entries  []uint64 // of some buckets, one after the other
	ends     []int    // of the buckets
	most     int      // entries at a time
	sketches []sketch // of the entries
	ordered  []sketch // of a large bucket
	near     []nearPair
	crowds   crowdBuckets

	list, room []uint64    // of one band
	order      [2][]uint64 // room to gather sketches
}

// run goes through all buckets. If the list of the band takes too much memory, it is made part by part, by the keys.
func (j *join) run(ctx context.Context) {
	share := j.graph.memory / int64(runtime.GOMAXPROCS(0))
	parts := uint64(int64(j.size())*16/max(share/bandShare, 1<<20) + 1)
	// Sketches in memory are copied for few buckets at a time, so that they stay in the cache. Those in a file
	// are read in the order of the file, so there should be as many as possible.
	j.most = 4096
	if j.index.sketches.IsSpilled() {
		j.most = int(max(share/bucketShare/80, 1<<14))
	}
	for part := range parts {
		j.runPart(ctx, part, parts)
	}
	j.compareAll()
}

// runPart goes through the buckets of a part of the keys. It makes the list of the band anew, since the runs
// and the tail together have each signature once. If the context ends it stops in the middle; Join then
// returns no lists at all.
func (j *join) runPart(ctx context.Context, part, parts uint64) {
	list := slices.Grow(j.list[:0], int(uint64(j.size())/parts*9/8))
	all := j.dead.Len() == 0
	take := func(e uint64) {
		if (parts == 1 || e>>32*parts>>32 == part) && (all || j.slot(uint32(e)) != none) {
			list = append(list, e)
		}
	}
	for i := range j.runs {
		for _, part := range j.runs[i].lists[j.band].Chunks() {
			for _, e := range part {
				take(e)
			}
		}
	}
	j.tail.rows(j.band, func(first uint32, row []uint32) {
		for i, key := range row {
			take(uint64(key)<<32 | uint64(first+uint32(i)))
		}
	})
	list, j.room = sortByKey(list, j.room)
	j.list = list
	for i := 0; i < len(list); {
		end := i + 1
		if end < len(list) && list[end]>>32 == list[i]>>32 {
			end = i + bucketEnd(list[i:])
			j.add(list[i:end])
			if ctx.Err() != nil || j.found.isFull() {
				return
			}
		}
		i = end
	}
}

// isDense reports whether a bucket is dense, by a sample of pairs. That decides how its neighbours are found,
// but not which they are, so a wrong answer only costs time.
func (j *join) isDense(bucket []uint64, sketches []sketch) bool {
	near := 0
	for i := range denseSamples {
		a := i * len(bucket) / (2 * denseSamples)
		if agreement(sketches[a].same(&sketches[a+len(bucket)/2])) >= leastAgreement[j.level] {
			near++
		}
	}
	return near >= denseSamples/8
}

// add adds a bucket to those that are compared next.
func (j *join) add(bucket []uint64) {
	if len(j.entries)+len(bucket) > j.most {
		j.compareAll()
	}
	j.entries = append(j.entries, bucket...)
	j.ends = append(j.ends, len(j.entries))
}

// compareAll finds the neighbours in all buckets that were added.
func (j *join) compareAll() {
	j.sketches = gather(&j.index.sketches, j.entries, j.sketches, &j.order)
	from := 0
	for _, end := range j.ends {
		if j.found.isFull() {
			break
		}
		j.bucket(j.entries[from:end], j.sketches[from:end])
		from = end
	}
	j.entries, j.ends = j.entries[:0], j.ends[:0]
	j.found.add(j.near)
	j.near = j.near[:0]
}

// bucket finds the neighbours in a bucket, or keeps it. A large bucket is kept in any case, for callers
// without a limit. If it is not dense, the neighbours in its windows go into the lists as well, so that other
// callers need no search.
func (j *join) bucket(bucket []uint64, sketches []sketch) {
	isLarge := len(bucket) > int(j.graph.usual)
	isDense := (isLarge || len(bucket) > j.graph.kept) && j.isDense(bucket, sketches)
	if !isLarge && !isDense {
		j.compare(bucket, sketches, len(bucket))
		return
	}
	c, from := &j.crowds, len(j.crowds.list)
	c.list = append(c.list, bucket...)
	bucket = c.list[from:]
	j.orderBucket(j.band, bucket)
	if isDense {
		c.dense = append(c.dense, bucket...)
	}
	if isLarge {
		c.large = append(c.large, bucket...)
	}
	if isLarge && !isDense {
		j.ordered = gather(&j.index.sketches, bucket, j.ordered, &j.order)
		j.compare(bucket, j.ordered, window)
	}
}

// compare finds the neighbours among the entries of a bucket, each with up to before entries before it. Before
// it takes a pair, it asks the set whether another band has found it already. The block of the last pair is
// remembered, since the next pair is often in the same one. It may be out of date, and then the set gets the
// pair again, which does no harm.
func (j *join) compare(bucket []uint64, sketches []sketch, before int) {
	least := leastAgreement[j.level]
	var known block // of the last pair
	for a := range sketches {
		for b := max(a-before, 0); b < a; b++ {
			n := agreement(sketches[a].same(&sketches[b]))
			if n < least {
				continue
			}
			slotA, slotB := j.slot(uint32(bucket[a])), j.slot(uint32(bucket[b]))
			p := nearPair{min(slotA, slotB), max(slotA, slotB), uint8(n)}
			if key := p.key(); key != known.key {
				known = block{key, j.found.of(p)}
			}
			if known.pairs&p.bit() == 0 && !j.graph.isOther(j.level, slotA, slotB) {
				j.near = append(j.near, p)
			}
		}
		if len(j.near) > 1<<12 {
			j.found.add(j.near)
			j.near = j.near[:0]
		}
	}
}

// A nearPair is two neighbours, a < b by slot.
type nearPair struct {
	a, b      uint32
	agreement uint8
}

// A block is the pairs of one slot with 64 others in a row, each a bit. In a crowd most of these are pairs, and
// those of a bucket are looked up one after the other.
type block struct{ key, pairs uint64 }

// key returns the key of the block of a pair: a in the upper half, and b without its six lowest bits, all
// set so that no key is 0.
func (p nearPair) key() uint64 { return uint64(p.a)<<32 | uint64(p.b) | 63 }

// bit returns the bit of a pair in its block.
func (p nearPair) bit() uint64 { return 1 << (p.b & 63) }

// pairs is a set of pairs of neighbours. It may be used by several goroutines.
type pairs struct {
	parts [64]pairTable
	n     atomic.Int64 // in all parts
	most  int
}

// A pairTable is a part of the set: an open hash table of blocks, and the pairs in the order of finding. A pair
// of neighbours is of one level only.
type pairTable struct {
	sync.RWMutex
	blocks []block // the key is 0 if there is none
	n      int     // blocks
	pairs  []nearPair
}

// partOf returns the part that has the block with a key, and the hash by which it is found there.
func (s *pairs) partOf(key uint64) (t *pairTable, hash uint64) {
	hash = key * 0x9E3779B97F4A7C15
	hash ^= hash >> 29
	return &s.parts[hash%64], hash * 0xE7037ED1A0B428DB >> 16
}

// of returns the pairs in the block of a pair.
func (s *pairs) of(p nearPair) uint64 {
	t, hash := s.partOf(p.key())
	t.RLock()
	defer t.RUnlock()
	if t.n == 0 {
		return 0
	}
	return t.blocks[t.at(p.key(), hash)].pairs
}

// at returns the cell of a key, or the empty one where it belongs.
func (t *pairTable) at(key, hash uint64) int {
	mask := uint64(len(t.blocks) - 1)
	i := hash & mask
	for t.blocks[i].key != 0 && t.blocks[i].key != key {
		i = (i + 1) & mask
	}
	return int(i)
}

// add adds pairs that may be there.
func (s *pairs) add(all []nearPair) {
	for _, p := range all {
		t, hash := s.partOf(p.key())
		t.Lock()
		if 3*(t.n+1) > 2*len(t.blocks) {
			t.grow(s)
		}
		b := &t.blocks[t.at(p.key(), hash)]
		if b.key == 0 {
			b.key = p.key()
			t.n++
		}
		if b.pairs&p.bit() == 0 {
			b.pairs |= p.bit()
			t.pairs = append(t.pairs, p)
			s.n.Add(1)
		}
		t.Unlock()
	}
}

// grow doubles the cells.
func (t *pairTable) grow(s *pairs) {
	blocks := t.blocks
	t.blocks = make([]block, max(16, 2*len(blocks)))
	for _, b := range blocks {
		if b.key != 0 {
			_, hash := s.partOf(b.key)
			t.blocks[t.at(b.key, hash)] = b
		}
	}
}

// isFull reports whether there are more pairs than are wanted. Goroutines ask now and then, so
// there may be a few more.
func (s *pairs) isFull() bool { return int(s.n.Load()) > s.most }

// lists returns the neighbours by slot. Pairs are in the order of finding, which depends on the goroutines, so
// the neighbours of each slot are sorted.
func (s *pairs) lists() *Lists {
	each := func(take func(a, b uint32, agreement int32)) {
		for i := range s.parts {
			for _, p := range s.parts[i].pairs {
				take(p.a, p.b, int32(p.agreement))
			}
		}
	}
	slots := 0
	each(func(_, b uint32, _ int32) { slots = max(slots, int(b)+1) })
	l := &Lists{from: make([]uint32, slots+1), near: make([]Near, 2*s.n.Load())}
	each(func(a, b uint32, _ int32) {
		l.from[a]++
		l.from[b]++
	})
	end := uint32(0)
	for i, n := range l.from {
		end += n
		l.from[i] = end
	}
	each(func(a, b uint32, agreement int32) {
		l.from[a]--
		l.near[l.from[a]] = Near{b, agreement}
		l.from[b]--
		l.near[l.from[b]] = Near{a, agreement}
	})
	parallel.Chunks(slots, func(_, from, to int) {
		for slot := from; slot < to; slot++ {
			slices.SortFunc(l.Of(uint32(slot)), func(a, b Near) int { return cmp.Compare(a.Slot, b.Slot) })
		}
	})
	return l
}
