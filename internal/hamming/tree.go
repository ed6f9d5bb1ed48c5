package hamming

import (
	"fmt"
	"math/bits"
	"unsafe"

	"github.com/neardup/neardup/internal/format"
	"github.com/neardup/neardup/internal/kernel"
	"github.com/neardup/neardup/internal/store"
)

// ChildCount returns how many fingerprints are below a bucket that was split, of which
// the place is known, or 0 if the file is damaged there.
func (t *Tree) ChildCount(tb *Table, place int) int {
	if 2*place >= len(tb.entries) || t.File.Check(unsafe.Pointer(&tb.entries[2*place]), 4) != nil {
		return 0
	}
	child := int(tb.entries[2*place])
	if child >= len(t.Nodes) {
		return 0
	}
	return t.Nodes[child].count
}

// A Tree finds the fingerprints of a fixed set within any distance of a query. It
// never changes.
//
// Its root has the tables of a plan (plan.go). A table leads from the value of its
// key to a bucket of fingerprints:
//
//	starts   of each value: where its bucket begins, in entries; then the number of all
//	entries  tag 0 … tag c−1, ordinal 0 … ordinal c−1 of one bucket, then the next
//
// A tag is 32 bits outside the key. A search compares tags and turns to the fingerprint
// itself only if the tags are near enough.
//
// A bucket that is far larger than the average of its table is split again (S002 §2.3,
// with μ = 2): its members agree on the key, so all their differences lie in the
// remaining bits, and the pigeonhole principle holds for those. So a bucket may be a
// node with tables of its own, and theirs may be. S002 has one such level, with 4
// tables by 12 bits; here every node has its own plan, for the bits in which its members
// really differ. Fingerprints that are equal are entered once, whatever their number, so
// that there is always a bit by which to split.
type Tree struct {
	words    int      // of a fingerprint: 1 or 2
	fps      []uint64 // by ordinal, low word first
	Nodes    []node   // the root first, every node before its children
	Copies   copies
	distance int            // that the plans were made for
	Reach    int            // the distance up to which tables are faster than a scan
	foreign  bool           // it was read from a file, and may be anything
	File     *store.Mapping // where the slices are, if they are a file that was not checked yet
	sizes    []int          // of the entries of each table, until they are read from a file
}

// A node is the root, or a bucket that was split.
type node struct {
	parent       int       // the number of the node of which it is a bucket; the root has none
	Under        int       // the number of the table there
	fixed, Value [2]uint64 // the bits in which all its fingerprints agree, and their values
	count        int       // of its fingerprints, equal ones counted once
	Combos       bool      // see plan
	Tables       []Table
}

// Radius returns in how many bits of a table's key a fingerprint may differ that it finds
// at the distance k; negative means that the table is not needed.
func (n *node) Radius(table, k int) int {
	if n.Combos {
		return 0
	}
	return Radius(table, len(n.Tables), k)
}

type Table struct {
	pieces   []piece   // the key, lowest bits first
	mask     [2]uint64 // its bits
	Bits     int       // their number
	tagShift int       // the tag, a multiple of 32
	tagMask  uint32    // without the bits of the key
	Starts   []uint32  // splitBit: the bucket is a node; its number is where the tag would be
	entries  []uint32  // copyBit of an ordinal: others are equal
}

// A piece of a key is neighbouring bits of a word.
type piece struct{ word, shift, width, at uint8 }

const (
	SplitBit  = 1 << 31
	copyBit   = 1 << 31
	maxDepth  = 12
	fullest   = 256 // entries in a bucket that is never split
	perBucket = 3   // times the average make a bucket overfull: S002's 1+μ
)

// copies are the fingerprints equal to one that comes before them.
type copies struct {
	first []uint32 // in ascending order: those that have copies
	Start []uint32 // where the copies of each begin in all, and their end
	All   []uint32
}

// Bytes returns the memory that the tree takes besides the fingerprints.
func (t *Tree) Bytes() int {
	n := 4 * (cap(t.Copies.first) + cap(t.Copies.Start) + cap(t.Copies.All))
	for i := range t.Nodes {
		n += int(unsafe.Sizeof(node{}))
		for j := range t.Nodes[i].Tables {
			tb := &t.Nodes[i].Tables[j]
			n += int(unsafe.Sizeof(*tb)) + 4*(cap(tb.Starts)+cap(tb.entries))
		}
	}
	return n
}

func (t *Tree) Len() int { return len(t.fps) >> (t.words - 1) }

// at returns the words of a fingerprint.
func (t *Tree) at(ord uint32) (lo, hi uint64) {
	if t.words == 1 {
		return t.fps[ord], 0
	}
	return t.fps[2*ord], t.fps[2*ord+1]
}

func (t *Table) key(lo, hi uint64) uint32 {
	key := uint32(0)
	for _, p := range t.pieces {
		w := lo
		if p.word != 0 {
			w = hi
		}
		key |= uint32(w>>(p.shift&63)&(1<<(p.width&63)-1)) << (p.at & 31)
	}
	return key
}

func (t *Table) tag(lo, hi uint64) uint32 {
	if t.tagShift >= 64 {
		lo = hi
	}
	return uint32(lo>>(t.tagShift&63)) & t.tagMask
}

// A visit is one search of a tree.
type visit struct {
	t        *Tree
	lo, hi   uint64
	distance int
	emit     func(ord uint32, distance int) int
	path     [maxDepth]hop
	depth    int
	err      *error // apart, so that a visit stays on the stack
}

// A hop of a path is the table of a node that led on, and the distance left there.
type hop struct{ node, table, k uint32 }

// A probe is a bucket to look at.
type probe struct {
	key          uint32
	from, to     uint32
	table, flips uint16 // in so many bits its key differs from that of the query
}

// Search calls emit for every fingerprint within the distance, each once, and of equal
// ones for all. emit returns the distance within which to go on, which is not more than
// before; if that is negative the search is over.
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

// NewScan returns a tree without tables, which compares all fingerprints. It is a value, so that
// it can stay on the stack.
func NewScan(words int, fps []uint64) Tree { return Tree{words: words, fps: fps, Reach: -1} }

// scan compares all fingerprints, in order.
func (v *visit) scan() {
	const part = 1 << 14
	words := v.t.words
	for from := 0; from < v.t.Len(); from += part {
		fps := v.t.fps[from*words : min((from+part)*words, len(v.t.fps))]
		if !v.checked(unsafe.Pointer(&fps[0]), 8*len(fps)) {
			return
		}
		for at, mask := nextNear(words, fps, 0, v); mask != 0; at, mask = nextNear(words, fps, at+kernel.NearBlock, v) {
			for ; mask != 0; mask &= mask - 1 {
				ord := uint32(from + at + bits.TrailingZeros64(mask))
				lo, hi := v.t.at(ord)
				d := bits.OnesCount64(lo^v.lo) + bits.OnesCount64(hi^v.hi)
				if d <= v.distance && !v.emits(ord, d) {
					return
				}
			}
		}
	}
}

func nextNear(words int, fps []uint64, from int, v *visit) (at int, mask uint64) {
	if words == 1 {
		return kernel.Next64(fps, from, v.lo, v.distance)
	}
	return kernel.Next128(unsafe.Slice((*[2]uint64)(unsafe.Pointer(unsafe.SliceData(fps))), len(fps)/2), from, [2]uint64{v.lo, v.hi}, v.distance)
}

// emits calls emit, and reports whether to go on.
func (v *visit) emits(ord uint32, distance int) bool {
	v.distance = v.emit(ord, distance)
	return v.distance >= 0
}

// checked reports whether a part of the tree is what was written.
func (v *visit) checked(p unsafe.Pointer, n int) bool {
	*v.err = v.t.File.Check(p, n)
	return *v.err == nil
}

// fail is for what no tree that was built has.
func (v *visit) fail(what string) bool {
	*v.err = fmt.Errorf("%w: %s", format.ErrDamaged, what)
	return false
}

// node looks at the fingerprints below a node. k is the distance left. It returns false
// if the search is over.
func (v *visit) node(number, k int) bool {
	n := &v.t.Nodes[number]
	k -= bits.OnesCount64((v.lo^n.Value[0])&n.fixed[0]) + bits.OnesCount64((v.hi^n.Value[1])&n.fixed[1])
	if k < 0 {
		return true
	}
	if len(n.Tables) <= 4 && (n.Combos || k < len(n.Tables)) { // one value of each table
		var batch [4]probe
		used := len(n.Tables)
		if !n.Combos {
			used = k + 1
		}
		for i := range used {
			batch[i&3] = probe{key: n.Tables[i].key(v.lo, v.hi), table: uint16(i)}
		}
		return v.buckets(number, k, batch[:used])
	}
	var batch [32]probe
	return v.probe(number, k, batch[:])
}

// probe looks at all buckets of a node that may have something, a batch at a time.
func (v *visit) probe(number, k int, batch []probe) bool {
	n := &v.t.Nodes[number]
	found := 0
	for i := range n.Tables {
		t := &n.Tables[i]
		r := n.Radius(i, k)
		if r < 0 {
			break
		}
		key := t.key(v.lo, v.hi)
		for j := range min(r, t.Bits) + 1 {
			for flip := uint32(1)<<j - 1; flip>>t.Bits == 0; flip = nextCombination(flip) {
				if found == len(batch) {
					if !v.buckets(number, k, batch) {
						return false
					}
					found = 0
				}
				batch[found] = probe{key: key ^ flip, table: uint16(i), flips: uint16(j)}
				found++
				if j == 0 {
					break
				}
			}
		}
	}
	return v.buckets(number, k, batch[:found])
}

// nextCombination returns the next larger number with as many bits set. x is not 0.
func nextCombination(x uint32) uint32 {
	low := x & -x
	sum := x + low
	return sum | (x^sum)>>2>>bits.TrailingZeros32(low)
}

// buckets looks at the buckets of some probes. All of them are fetched from memory side
// by side and not one after the other.
func (v *visit) buckets(number, k int, batch []probe) bool {
	n := &v.t.Nodes[number]
	far := n.count > 1<<14 // not in a cache anyway
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
			size := 4 * (to - from) // the tags
			if size <= 128 {
				size *= 2 // the ordinals are near
			}
			kernel.Prefetch(unsafe.Pointer(&t.entries[2*from]), min(size, 1024))
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
		v.path[v.depth] = hop{uint32(number), uint32(p.table), uint32(k)}
		v.depth++
		if p.from&SplitBit != 0 {
			child := int(bucket[0])
			if !v.t.isChild(child, number, p) || v.depth == maxDepth {
				return v.fail("a bucket that was split leads to a node that is not its own")
			}
			if !v.node(child, v.distance) {
				return false
			}
		} else if !v.bucket(bucket[:to-from], bucket[to-from:], t.tag(v.lo, v.hi), v.distance-int(p.flips)) {
			return false
		}
		v.depth--
	}
	return true
}

// isChild reports whether a node is what a bucket was split into. So no file can make a
// search visit any node twice.
func (t *Tree) isChild(child, number int, p *probe) bool {
	if child >= len(t.Nodes) || child <= number {
		return false
	}
	c := &t.Nodes[child]
	return c.parent == number && c.Under == int(p.table) && t.Nodes[number].Tables[p.table].key(c.Value[0], c.Value[1]) == p.key
}

// bucket emits what is near among the entries of a bucket. k is the distance that tags
// may have.
func (v *visit) bucket(tags, ords []uint32, tag uint32, k int) bool {
	for at := 0; ; at += kernel.NearBlock {
		var mask uint64
		if at, mask = kernel.NextTag(tags, at, tag, k); mask == 0 {
			return true
		}
		for ; mask != 0; mask &= mask - 1 {
			ord := ords[at+bits.TrailingZeros64(mask)]
			if !v.candidate(ord&^copyBit, ord&copyBit != 0) {
				return false
			}
		}
	}
}

// candidate emits a fingerprint, with its copies, if it is near and no table before
// those that led to it leads to it too.
func (v *visit) candidate(ord uint32, copied bool) bool {
	words := v.t.words
	if ord >= uint32(v.t.Len()) {
		return v.fail("an entry is of no fingerprint")
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

// copies emits the copies of a fingerprint.
func (v *visit) copies(ord uint32, distance int) bool {
	c := &v.t.Copies
	i, end := 0, len(c.first)
	for i < end {
		mid := int(uint(i+end) / 2)
		if !v.checked(unsafe.Pointer(&c.first[mid]), 4) {
			return false
		}
		if c.first[mid] < ord {
			i = mid + 1
		} else {
			end = mid
		}
	}
	if i == len(c.first) || c.first[i] != ord || !v.checked(unsafe.Pointer(&c.Start[i]), 8) {
		return v.fail("copies of a fingerprint are missing")
	}
	if c.Start[i] >= c.Start[i+1] || c.Start[i+1] > uint32(len(c.All)) {
		return v.fail("copies are outside of their table")
	}
	all := c.All[c.Start[i]:c.Start[i+1]]
	sameLo, sameHi := v.t.at(ord)
	if !v.checked(unsafe.Pointer(&all[0]), 4*len(all)) {
		return false
	}
	for _, ord := range all {
		if ord >= uint32(v.t.Len()) {
			return v.fail("a copy is of no fingerprint")
		}
		if v.t.foreign {
			if !v.checked(unsafe.Pointer(&v.t.fps[int(ord)*v.t.words]), 8*v.t.words) {
				return false
			}
			if lo, hi := v.t.at(ord); lo != sameLo || hi != sameHi {
				return v.fail("a copy that is none")
			}
		}
		if !v.emits(ord, distance) {
			return false
		}
	}
	return true
}
