package neardup

import (
	"fmt"
	"iter"
	"math/bits"
)

// An Index finds, among stored fingerprints, all those within a fixed Hamming
// distance of a query, each once, under the caller's own ids.
//
// It is the pigeonhole index of the source documents (S001 §3, S002 §1, S003
// §2.1): the bits are cut into k+1 blocks that cover every bit, and for each
// block a table leads from its value to the fingerprints that have it. Two
// fingerprints at a distance of at most k agree on a block, so a search need
// only look at one bucket in each table, and it misses nothing: that is a
// theorem. With 64 bits and k = 3 these are 4 tables by 16 bits. Where k is so
// large that the buckets would hold most of the fingerprints anyway, there is
// one table with one bucket, and a search is a scan.
//
// Memory for 64 bits and k = 3, ids not counted: about 75 bytes for each of
// many fingerprints. Time: a search among one million random fingerprints
// takes a third of a microsecond; it grows with the sizes of the buckets, so
// with their number and with how many share a block.
//
// Exists, Search, Pairs, Groups and Len may be called from several goroutines
// at once. Add and Delete need the index for themselves.
type Index[ID comparable, F Fingerprint] struct {
	k      int
	number map[ID]uint32 // id -> ordinal
	ids    []ID          // by ordinal, in the order of adding
	fps    []F
	dead   []bool // ordinals whose document was deleted; nil if there are none
	tables []table
}

// A Match is a stored fingerprint within the distance of an index.
type Match[ID comparable] struct {
	ID       ID
	Distance int // bits
}

// An IDPair is a pair of stored fingerprints; A was added before B.
type IDPair[ID comparable] struct {
	A, B     ID
	Distance int // bits
}

// NewIndex returns an empty index for Hamming distances up to k, 0 to the
// width of F; any other k is an error.
func NewIndex[ID comparable, F Fingerprint](k int) (*Index[ID, F], error) {
	if k < 0 || k > width[F]() {
		return nil, fmt.Errorf("neardup: NewIndex: distance %d is not between 0 and %d", k, width[F]())
	}
	return &Index[ID, F]{k: k, number: make(map[ID]uint32), tables: newTables(width[F](), k)}, nil
}

// Len returns the number of stored fingerprints.
func (ix *Index[ID, F]) Len() int { return len(ix.number) }

// Add stores a fingerprint under an id. If the id is known, its fingerprint is
// replaced, and it keeps its place in the order of adding.
func (ix *Index[ID, F]) Add(id ID, fp F) {
	n, ok := ix.number[id]
	if ok {
		if ix.fps[n] == fp {
			return
		}
		ix.unlink(n)
		ix.fps[n] = fp
	} else {
		n = uint32(len(ix.ids))
		ix.number[id] = n
		ix.ids = append(ix.ids, id)
		ix.fps = append(ix.fps, fp)
		if ix.dead != nil {
			ix.dead = append(ix.dead, false)
		}
	}
	lo, hi := split(fp)
	for i := range ix.tables {
		ix.tables[i].add(lo, hi, n)
	}
}

// Delete removes an id and reports whether it was there.
func (ix *Index[ID, F]) Delete(id ID) bool {
	n, ok := ix.number[id]
	if !ok {
		return false
	}
	ix.unlink(n)
	delete(ix.number, id)
	if ix.dead == nil {
		ix.dead = make([]bool, len(ix.ids))
	}
	ix.dead[n] = true
	var zero ID
	ix.ids[n] = zero // let go of what the id points to
	if len(ix.ids) > 64 && len(ix.number) < len(ix.ids)/2 {
		ix.renumber()
	}
	return true
}

func (ix *Index[ID, F]) unlink(n uint32) {
	lo, hi := split(ix.fps[n])
	for i := range ix.tables {
		ix.tables[i].remove(lo, hi, n)
	}
}

// renumber closes the gaps that deleted documents left.
func (ix *Index[ID, F]) renumber() {
	old := *ix
	*ix = Index[ID, F]{k: old.k, number: make(map[ID]uint32, len(old.number)), tables: newTables(width[F](), old.k)}
	for n, id := range old.ids {
		if !old.dead[n] {
			ix.Add(id, old.fps[n])
		}
	}
}

// Exists reports whether any stored fingerprint is within the distance of fp.
// It stops at the first.
func (ix *Index[ID, F]) Exists(fp F) bool {
	for range ix.Search(fp) {
		return true
	}
	return false
}

// Search yields every stored fingerprint within the distance of fp, each once,
// exact duplicates included, in no particular order. The index must not be
// changed before the loop ends.
func (ix *Index[ID, F]) Search(fp F) iter.Seq[Match[ID]] {
	return func(yield func(Match[ID]) bool) {
		lo, hi := split(fp)
		for i := range ix.tables {
			t := &ix.tables[i]
			s := t.slots[t.key(lo, hi)]
			b := t.bucket(s)
			for n := 0; ; n++ {
				if n += near(b[n*t.stride:], lo, hi, t.stride, ix.k); n >= int(s.len) {
					break
				}
				xlo, xhi := b[n*t.stride]^lo, b[(n+1)*t.stride-1]^hi
				d := bits.OnesCount64(xlo)
				if t.stride == 2 {
					d += bits.OnesCount64(xhi)
				}
				if earlier(ix.tables[:i], xlo, xhi) {
					continue
				}
				if !yield(Match[ID]{ix.ids[t.ords[int(s.off)+n]], d}) {
					return
				}
			}
		}
	}
}

// Pairs yields every pair of stored fingerprints within the distance, each
// once. The order is unspecified but depends on nothing but the calls made so
// far. The index must not be changed before the loop ends.
func (ix *Index[ID, F]) Pairs() iter.Seq[IDPair[ID]] {
	return func(yield func(IDPair[ID]) bool) {
		ids, fps := ix.live()
		for p := range Pairs(fps, ix.k) {
			if !yield(IDPair[ID]{ids[p.I], ids[p.J], p.Distance}) {
				return
			}
		}
	}
}

// Groups returns the ids of the connected components of [Index.Pairs] with two
// or more members. Members and groups are in the order of adding, so the first
// member, the one added first, is a stable representative. See [Clusters].
func (ix *Index[ID, F]) Groups() [][]ID {
	ids, fps := ix.live()
	groups := groupsOf(Clusters(fps, ix.k))
	out := make([][]ID, len(groups))
	for i, members := range groups {
		for _, n := range members {
			out[i] = append(out[i], ids[n])
		}
	}
	return out
}

// live returns the stored ids and fingerprints in the order of adding.
func (ix *Index[ID, F]) live() ([]ID, []F) {
	if ix.dead == nil {
		return ix.ids, ix.fps
	}
	var ids []ID
	var fps []F
	for n, dead := range ix.dead {
		if !dead {
			ids = append(ids, ix.ids[n])
			fps = append(fps, ix.fps[n])
		}
	}
	return ids, fps
}

// A table leads from the value of a block to the fingerprints that have it.
//
// Buckets lie in one arena, each with a little room to grow. One that is full
// moves to the end of the arena; when the arena is full, it is laid out anew,
// a fifth larger than its contents, so an entry is copied a few times on
// average. While there are few fingerprints only the lower bits of the block
// serve as key.
type table struct {
	stride       int // words in a fingerprint: 1 or 2
	shift, width int // the block, counted from bit 0 of the fingerprint
	mask         uint64
	slots        []slot   // by key
	fps          []uint64 // the arena: lo, or lo and hi, of each entry
	ords         []uint32 // beside it the ordinals
	used         int      // entries of the arena given out
	size         int      // fingerprints in the table
}

// A slot says where a bucket is in the arena, in entries.
type slot struct{ off, len, cap uint32 }

// maxKey is the largest number of bits in a key.
const maxKey = 16

func newTables(bits, k int) []table {
	tables := make([]table, 0, k+1)
	share := 0.0 // of the fingerprints that a search must look at
	for b := range k + 1 {
		from, to := bits*b/(k+1), bits*(b+1)/(k+1)
		tables = append(tables, table{stride: bits / 64, shift: from, width: min(to-from, maxKey), slots: make([]slot, 1)})
		share += 1 / float64(uint64(1)<<tables[b].width)
	}
	if share > 0.5 {
		return []table{{stride: bits / 64, slots: make([]slot, 1)}}
	}
	return tables
}

// key returns the bucket of a fingerprint. Bits above 64 come from hi; a block
// may reach over the border.
func (t *table) key(lo, hi uint64) uint64 {
	switch {
	case t.shift >= 64:
		return hi >> (t.shift - 64) & t.mask
	case t.shift > 64-maxKey:
		return (lo>>t.shift | hi<<(64-t.shift)) & t.mask
	}
	return lo >> t.shift & t.mask
}

func (t *table) bucket(s slot) []uint64 {
	return t.fps[int(s.off)*t.stride : int(s.off+s.len)*t.stride]
}

// earlier reports whether two fingerprints whose bits differ as in lo and hi
// meet in one of the tables.
func earlier(tables []table, lo, hi uint64) bool {
	for i := range tables {
		if tables[i].key(lo, hi) == 0 {
			return true
		}
	}
	return false
}

// near returns the position of the first fingerprint of a bucket that is within
// k of lo and hi, or the number of fingerprints.
func near(b []uint64, lo, hi uint64, stride, k int) int {
	if stride == 1 {
		for i, x := range b {
			if bits.OnesCount64(x^lo) <= k {
				return i
			}
		}
		return len(b)
	}
	for i := 0; i+1 < len(b); i += 2 {
		if bits.OnesCount64(b[i]^lo)+bits.OnesCount64(b[i+1]^hi) <= k {
			return i / 2
		}
	}
	return len(b) / 2
}

func (t *table) add(lo, hi uint64, ord uint32) {
	if t.size++; t.size > 8*len(t.slots) && len(t.slots) < 1<<t.width {
		t.layout(min(2*len(t.slots), 1<<t.width))
	}
	key := t.key(lo, hi)
	if s := t.slots[key]; s.len == s.cap {
		t.grow(key)
	}
	t.slots[key].len++
	s := t.slots[key]
	t.ords[s.off+s.len-1] = ord
	if b := t.bucket(s); t.stride == 1 {
		b[len(b)-1] = lo
	} else {
		b[len(b)-2], b[len(b)-1] = lo, hi
	}
}

func (t *table) remove(lo, hi uint64, ord uint32) {
	s := &t.slots[t.key(lo, hi)]
	for at := s.off; at < s.off+s.len; at++ {
		if t.ords[at] == ord {
			last := s.off + s.len - 1
			t.move(at, last, 1)
			s.len--
			t.size--
			return
		}
	}
}

// move copies n entries of the arena.
func (t *table) move(to, from, n uint32) {
	copy(t.ords[to:], t.ords[from:from+n])
	w := uint32(t.stride)
	copy(t.fps[to*w:], t.fps[from*w:(from+n)*w])
}

// grow gives a full bucket more room.
func (t *table) grow(key uint64) {
	if t.used+int(t.slots[key].cap)*5/4+2 > len(t.ords) {
		t.layout(len(t.slots)) // which leaves room in every bucket
		return
	}
	s := &t.slots[key]
	t.move(uint32(t.used), s.off, s.len)
	s.off, s.cap = uint32(t.used), s.cap*5/4+2
	t.used += int(s.cap)
}

// layout lays the arena out anew, with n buckets, a power of two.
func (t *table) layout(n int) {
	old := *t
	t.mask = uint64(n - 1)
	t.slots = make([]slot, n)
	for _, s := range old.slots {
		b := old.bucket(s)
		for i := 0; i < len(b); i += t.stride {
			t.slots[t.key(b[i], b[i+t.stride-1])].len++
		}
	}
	used := 0
	for i := range t.slots {
		s := &t.slots[i]
		s.off, s.cap = uint32(used), s.len+s.len/16+1
		used += int(s.cap)
		s.len = 0
	}
	t.used = used
	t.ords = make([]uint32, used+used/8+16)
	t.fps = make([]uint64, len(t.ords)*t.stride)
	for _, from := range old.slots {
		b := old.bucket(from)
		for i := 0; i < len(b); i += t.stride {
			s := &t.slots[t.key(b[i], b[i+t.stride-1])]
			at := int(s.off + s.len)
			copy(t.fps[at*t.stride:], b[i:i+t.stride])
			t.ords[at] = old.ords[int(from.off)+i/t.stride]
			s.len++
		}
	}
}
