package hamming

import (
	"fmt"
	"math/bits"
	"unsafe"

	"github.com/neardup/neardup/internal/format"
	"github.com/neardup/neardup/internal/kernel"
)

// This file searches a [Tree]. A search goes down from the root. In each node it looks up the keys
// that are near enough to its own, scans the tags of their buckets, and verifies the fingerprints
// whose tags are near.

// A visit is the state of one search. Its methods return false once the search is over, because
// emit asked for no more or because the file is damaged.
type visit struct {
	t        *Tree
	lo, hi   uint64 // the query
	number   uint8  // of the query; see many.go
	distance int    // still asked for; emit may lower it
	emit     func(ord uint32, distance int) int
	path     [maxDepth]hop // from the root to the current bucket
	depth    int           // hops in use
	err      *error        // a pointer, so that the visit itself stays on the stack
	many     *many         // of a search for many queries, or nil
}

// A hop is a step of a path: in this node, this table led on, with the distance k left.
type hop struct{ node, table, k uint32 }

// A probe is a bucket to look at: from and to delimit its entries, and from still has its
// SplitBit. Its key differs from the key of the query in flips bits.
type probe struct {
	key          uint32
	from, to     uint32
	table        uint16
	flips, query uint8
}

// Search calls emit for every fingerprint within the distance, once for each ordinal, in no
// particular order. emit returns the distance for the rest of the search, which must not be more
// than before; a negative one ends the search. Search returns an error only if the tree lies in a
// file and a part that it read is damaged.
func (t *Tree) Search(lo, hi uint64, distance int, emit func(ord uint32, distance int) int) error {
	if t.Len() == 0 {
		return nil
	}
	var err error
	v := visit{t: t, lo: lo, hi: hi, distance: distance, emit: emit, err: &err}
	if distance > t.Reach {
		v.scan()
	} else {
		v.node(0, distance)
	}
	return err
}

// Prefetch begins to load what a search will read first: where its buckets begin or, if that has
// arrived, the buckets. A caller with several trees calls it for all of them before it searches the
// first one, so that their waits overlap. It does nothing for a search that has many keys to look
// up, because such a search has enough reads under way by itself. What it reads of a mapped file is
// not checked, and only decides what is loaded.
func (t *Tree) Prefetch(lo, hi uint64, distance int, buckets bool) {
	if distance > t.Reach || len(t.Nodes) == 0 || t.Nodes[0].isNear() {
		return
	}
	n := &t.Nodes[0]
	for i := range n.fewKeys(distance) {
		tb := &n.Tables[i]
		starts := tb.Starts[tb.key(lo, hi):]
		if !buckets {
			kernel.Prefetch(unsafe.Pointer(&starts[0]), 8)
		} else if from, to := int(starts[0]&^SplitBit), int(starts[1]&^SplitBit); from < to && to <= len(tb.entries)/2 {
			tb.prefetch(from, to)
		}
	}
}

// fewKeys returns how many keys a search at distance k probes in the common case: all radii are 0, so
// there is one key in each of the tables that it needs, which are the first ones, four at most. It
// returns 0 in all other cases.
func (n *node) fewKeys(k int) int {
	switch {
	case len(n.Tables) > 4:
		return 0
	case n.Combos:
		return len(n.Tables)
	case k < len(n.Tables):
		return k + 1
	}
	return 0
}

// isNear reports whether the tables of a node are so small that they are in a cache anyway.
func (n *node) isNear() bool { return n.count <= 1<<14 }

// prefetch begins to load a bucket, which is not empty.
func (t *Table) prefetch(from, to int) {
	size := 4 * (to - from) // the tags
	if size <= 128 {
		size *= 2 // and the ordinals, which are right behind
	}
	kernel.Prefetch(unsafe.Pointer(&t.entries[2*from]), min(size, 1024))
}

// NewScan returns a tree without tables over fps. Every search compares all fingerprints, in
// order. It is a value, so that it can stay on the stack.
func NewScan(words int, fps []uint64) Tree { return Tree{words: words, fps: fps, Reach: -1} }

// scan compares all fingerprints, in order. It works in parts, so that a mapped file is checked
// just before it is compared, and a search that ends early checks no more than it has read.
func (v *visit) scan() bool {
	for from := 0; from < v.t.Len(); from += scanPart {
		if !v.scanFrom(from) {
			return false
		}
	}
	return true
}

// scanPart is how many fingerprints a scan takes at a time.
const scanPart = 1 << 14

// scanFrom compares a part of the fingerprints, in order.
func (v *visit) scanFrom(from int) bool {
	words := v.t.words
	fps := v.t.fps[from*words : min((from+scanPart)*words, len(v.t.fps))]
	if !v.checked(unsafe.Pointer(&fps[0]), 8*len(fps)) {
		return false
	}
	for at, mask := nextNear(words, fps, 0, v); mask != 0; at, mask = nextNear(words, fps, at+kernel.NearBlock, v) {
		for ; mask != 0; mask &= mask - 1 {
			ord := uint32(from + at + bits.TrailingZeros64(mask))
			lo, hi := v.t.at(ord)
			d := bits.OnesCount64(lo^v.lo) + bits.OnesCount64(hi^v.hi)
			if d <= v.distance && !v.emits(ord, d) {
				return false
			}
		}
	}
	return true
}

// nextNear returns the next block of fingerprints with any near the query, and which they are; see
// [kernel.Next64].
func nextNear(words int, fps []uint64, from int, v *visit) (at int, mask uint64) {
	if words == 1 {
		return kernel.Next64(fps, from, v.lo, v.distance)
	}
	return kernel.Next128(unsafe.Slice((*[2]uint64)(unsafe.Pointer(unsafe.SliceData(fps))), len(fps)/2), from, [2]uint64{v.lo, v.hi}, v.distance)
}

// emits reports a match to the caller. It returns whether the search goes on.
func (v *visit) emits(ord uint32, distance int) bool {
	if v.many != nil {
		v.many.emit(int(v.number), ord, distance)
		return true
	}
	v.distance = v.emit(ord, distance)
	return v.distance >= 0
}

// checked reports whether n bytes of the tree are as they were written. Every access to memory of
// a mapped file must pass through it first. It costs next to nothing once a block was checked.
func (v *visit) checked(p unsafe.Pointer, n int) bool {
	*v.err = v.t.File.Check(p, n)
	return *v.err == nil
}

// fail ends the search with an error. It is for contents that no tree built by this package has:
// checksums protect against accidents, and these tests against files that were made to do harm.
func (v *visit) fail(what string) bool {
	*v.err = fmt.Errorf("%w: %s", format.ErrDamaged, what)
	return false
}

// left returns what is left of the distance k in a node. In the node's fixed bits the query differs
// from all its fingerprints alike. So these differences are taken off k at once, and what is left
// is the distance allowed in the bits that vary, which the tables are made for. It may be negative.
func (v *visit) left(n *node, k int) int {
	return k - bits.OnesCount64((v.lo^n.Value[0])&n.fixed[0]) - bits.OnesCount64((v.hi^n.Value[1])&n.fixed[1])
}

// node searches a node at distance k.
func (v *visit) node(number, k int) bool {
	n := &v.t.Nodes[number]
	k = v.left(n, k)
	if k < 0 {
		return true
	}
	if used := n.fewKeys(k); used > 0 {
		var batch [4]probe
		for i := range used {
			batch[i&3] = probe{key: n.Tables[i].key(v.lo, v.hi), table: uint16(i), query: v.number}
		}
		return v.buckets(number, k, batch[:used])
	}
	var batch [32]probe
	used, ok := v.probe(number, k, batch[:], 0)
	return ok && v.buckets(number, k, batch[:used])
}

// probe searches a node in general: in each table it probes every key within the table's radius of
// the query's key. These keys are a Hamming ball; flip runs through the bits to flip, first none,
// then every one bit, every two bits, and so on. Buckets are searched a batch at a time. The first
// used probes of the batch are there already. What is in the batch in the end is left to the
// caller.
func (v *visit) probe(number, k int, batch []probe, used int) (left int, ok bool) {
	n := &v.t.Nodes[number]
	for i := range n.Tables {
		t := &n.Tables[i]
		r := n.Radius(i, k)
		if r < 0 {
			break
		}
		key := t.key(v.lo, v.hi)
		for j := range min(r, t.Bits) + 1 {
			for flip := uint32(1)<<j - 1; flip>>t.Bits == 0; flip = nextCombination(flip) {
				if used == len(batch) {
					of := v.number
					if !v.buckets(number, k, batch) {
						return 0, false
					}
					if of != v.number {
						v.set(of)
					}
					used = 0
				}
				batch[used] = probe{key: key ^ flip, table: uint16(i), flips: uint8(j), query: v.number}
				used++
				if j == 0 {
					break
				}
			}
		}
	}
	return used, true
}

// nextCombination returns the next larger number with as many bits set (Gosper's hack). x must not
// be 0.
func nextCombination(x uint32) uint32 {
	low := x & -x
	sum := x + low
	return sum | (x^sum)>>2>>bits.TrailingZeros32(low)
}

// buckets searches the buckets of a batch of probes. A large table is far away in memory, and each
// probe misses the cache twice: in Starts and in entries. So buckets makes three passes, which
// prefetch Starts, read Starts and prefetch entries, and read entries. The misses of a batch then
// overlap instead of following one another.
func (v *visit) buckets(number, k int, batch []probe) bool {
	n := &v.t.Nodes[number]
	far := !n.isNear()
	for i := range batch {
		if p := &batch[i]; far {
			kernel.Prefetch(unsafe.Pointer(&n.Tables[p.table].Starts[p.key]), 8)
		}
	}
	for i := range batch {
		p := &batch[i]
		t := &n.Tables[p.table]
		at := t.Starts[p.key:][:2]
		if v.t.File != nil && !v.checked(unsafe.Pointer(&at[0]), 8) {
			return false
		}
		p.from, p.to = at[0], at[1]&^SplitBit
		if p.to > uint32(len(t.entries)/2) || at[0]&^SplitBit > p.to {
			return v.fail("a bucket is outside of its table")
		}
		from, to := int(at[0]&^SplitBit), int(p.to)
		if far && from < to {
			t.prefetch(from, to)
		}
	}
	for i := range batch {
		p := &batch[i]
		t := &n.Tables[p.table]
		from, to := int(p.from&^SplitBit), int(p.to)
		if from == to {
			continue
		}
		bucket := t.entries[2*from : 2*to]
		if v.t.File != nil && !v.checked(unsafe.Pointer(&bucket[0]), 4*len(bucket)) {
			return false
		}
		if p.query != v.number {
			k = v.set(p.query)
		}
		v.path[v.depth] = hop{uint32(number), uint32(p.table), uint32(k)}
		v.depth++
		if p.from&SplitBit != 0 {
			child := int(bucket[0])
			if !v.t.isChild(child, number, p) || v.depth == maxDepth {
				return v.fail("a split bucket leads to a node that is not its own")
			}
			if !v.node(child, v.distance) {
				return false
			}
		} else if !v.bucket(bucket[:to-from], bucket[to-from:], t.tag(v.lo, v.hi), v.distance-int(p.flips)) {
			return false
		}
		v.depth--
	}
	return v.many == nil || v.depth > 0 || v.verify()
}

// isChild reports whether a node is the one that a bucket was split into. A node names its parent
// and the table there, and its Value has the key of the bucket. So only one bucket leads to it, and
// no file, whatever it holds, can make a search visit a node twice.
func (t *Tree) isChild(child, number int, p *probe) bool {
	if child >= len(t.Nodes) || child <= number {
		return false
	}
	c := &t.Nodes[child]
	return c.parent == number && c.Under == int(p.table) && t.Nodes[number].Tables[p.table].key(c.Value[0], c.Value[1]) == p.key
}

// bucket emits the matches among the entries of a bucket. Tags within k bits of the query's tag
// are candidates. k leaves out the bits flipped in the key, because a tag has no bits of the key.
func (v *visit) bucket(tags, ords []uint32, tag uint32, k int) bool {
	for at := 0; ; at += kernel.NearBlock {
		var mask uint64
		if at, mask = kernel.NextTag(tags, at, tag, k); mask == 0 {
			return true
		}
		for ; mask != 0; mask &= mask - 1 {
			ord := ords[at+bits.TrailingZeros64(mask)]
			held := v.many != nil && v.depth == 1 && v.hold(ord)
			if !held && !v.candidate(ord&^copyBit, ord&copyBit != 0) {
				return false
			}
		}
	}
}

// candidate verifies a fingerprint whose tag is near, and emits it with its duplicates.
//
// Several tables of a node may lead to the same fingerprint. Only the first of them reports it: a
// candidate is dropped if, in any node of the path, a table before the one taken leads to it too,
// which is so if its key there is within that table's radius. So a search emits each ordinal once
// without remembering what it has emitted.
func (v *visit) candidate(ord uint32, copied bool) bool {
	words := v.t.words
	if ord >= uint32(v.t.Len()) {
		return v.fail("an entry refers to no fingerprint")
	}
	if v.t.File != nil && !v.checked(unsafe.Pointer(&v.t.fps[int(ord)*words]), 8*words) {
		return false
	}
	lo, hi := v.t.at(ord)
	lo, hi = lo^v.lo, hi^v.hi
	d := bits.OnesCount64(lo) + bits.OnesCount64(hi)
	if d > v.distance {
		return true
	}
	for i := range v.path[:v.depth] {
		s := &v.path[i]
		n := &v.t.Nodes[s.node]
		for j := range int(s.table) {
			t := &n.Tables[j]
			if bits.OnesCount64(lo&t.mask[0])+bits.OnesCount64(hi&t.mask[1]) <= n.Radius(j, int(s.k)) {
				return true
			}
		}
	}
	if !v.emits(ord, d) {
		return false
	}
	return !copied || v.copies(ord, d)
}

// copies emits the duplicates of a fingerprint. Each of them is compared with it if the tree comes
// from a file.
func (v *visit) copies(ord uint32, distance int) bool {
	all := v.duplicates(ord)
	if all == nil {
		return false
	}
	for _, c := range all {
		if c >= uint32(v.t.Len()) {
			return v.fail("a copy refers to no fingerprint")
		}
		if v.t.foreign && !v.isCopy(c, ord) {
			return false
		}
		if !v.emits(c, distance) {
			return false
		}
	}
	return true
}

// duplicates returns the ordinals that Copies has for a fingerprint with duplicates, by binary
// search. There is at least one, and they have been checked. It returns nil if the file is damaged.
func (v *visit) duplicates(ord uint32) []uint32 {
	c := &v.t.Copies
	i, end := 0, len(c.first)
	for i < end {
		mid := int(uint(i+end) / 2)
		if !v.checked(unsafe.Pointer(&c.first[mid]), 4) {
			return nil
		}
		if c.first[mid] < ord {
			i = mid + 1
		} else {
			end = mid
		}
	}
	if i == len(c.first) || c.first[i] != ord || !v.checked(unsafe.Pointer(&c.Start[i]), 8) {
		v.fail("copies of a fingerprint are missing")
		return nil
	}
	if c.Start[i] >= c.Start[i+1] || c.Start[i+1] > uint32(len(c.All)) {
		v.fail("copies are outside of their table")
		return nil
	}
	all := c.All[c.Start[i]:c.Start[i+1]]
	if !v.checked(unsafe.Pointer(&all[0]), 4*len(all)) {
		return nil
	}
	return all
}

// isCopy checks a duplicate of a tree that comes from a file: it must equal the fingerprint that it
// was found from. If not, the search fails.
func (v *visit) isCopy(ord, of uint32) bool {
	if !v.checked(unsafe.Pointer(&v.t.fps[int(ord)*v.t.words]), 8*v.t.words) {
		return false
	}
	lo, hi := v.t.at(ord)
	if sameLo, sameHi := v.t.at(of); lo != sameLo || hi != sameHi {
		return v.fail("a copy that is not equal")
	}
	return true
}
