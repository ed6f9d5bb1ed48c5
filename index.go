package neardup

import (
	"fmt"
	"iter"
	"math"
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
// large that the buckets would hold most of the fingerprints anyway, there are
// no tables, and a search is a scan.
//
// Memory for 64 bits and k = 3, ids not counted: 60 to 100 bytes for each
// fingerprint, about 60 at one million. Time: a search among one million random
// fingerprints takes about 0.4 microseconds. Search and Delete take longer the
// more fingerprints share a block with the one in question; where thousands are
// equal, keep one and a list of your own. An index holds at most 2³²−1
// fingerprints over its life, deleted ones not counted for long; more panic.
// Ids that are not equal to themselves (NaN) can be added but not deleted.
//
// Exists, Search, Pairs, Groups and Len may be called from several goroutines
// at once. Add and Delete need the index for themselves.
type Index[ID comparable, F Fingerprint] struct {
	k      int
	number map[ID]uint32   // id -> ordinal
	docs   []stored[ID, F] // by ordinal, in the order of adding
	dead   []bool          // ordinals whose document was deleted; nil if there are none
	tables []table
}

type stored[ID comparable, F Fingerprint] struct {
	fp F
	id ID
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

// All returns the ids and fingerprints in the order of adding.
func (ix *Index[ID, F]) All() iter.Seq2[ID, F] {
	return func(yield func(ID, F) bool) {
		for n, d := range ix.docs {
			if (ix.dead == nil || !ix.dead[n]) && !yield(d.id, d.fp) {
				return
			}
		}
	}
}

// Add stores a fingerprint under an id. If the id is known, its fingerprint is
// replaced, and it keeps its place in the order of adding.
func (ix *Index[ID, F]) Add(id ID, fp F) {
	n, ok := ix.number[id]
	if ok {
		if ix.docs[n].fp == fp {
			return
		}
		ix.unlink(n)
		ix.docs[n].fp = fp
	} else {
		if uint64(len(ix.docs)) == math.MaxUint32 {
			panic("neardup: Index.Add: more than 2³²−1 fingerprints")
		}
		n = uint32(len(ix.docs))
		ix.number[id] = n
		ix.docs = append(ix.docs, stored[ID, F]{fp, id})
		if ix.dead != nil {
			ix.dead = append(ix.dead, false)
		}
	}
	for i := range ix.tables {
		ix.tables[i].add(n, ix.words)
	}
}

func (ix *Index[ID, F]) words(n uint32) (lo, hi uint64) { return split(ix.docs[n].fp) }

// Delete removes an id and reports whether it was there.
func (ix *Index[ID, F]) Delete(id ID) bool {
	n, ok := ix.number[id]
	if !ok {
		return false
	}
	ix.unlink(n)
	delete(ix.number, id)
	if ix.dead == nil {
		ix.dead = make([]bool, len(ix.docs))
	}
	ix.dead[n] = true
	var zero ID
	ix.docs[n].id = zero // let go of what the id points to
	if len(ix.docs) > 64 && len(ix.number) < len(ix.docs)/2 {
		ix.renumber()
	}
	return true
}

func (ix *Index[ID, F]) unlink(n uint32) {
	lo, hi := split(ix.docs[n].fp)
	for i := range ix.tables {
		ix.tables[i].remove(n, lo, hi)
	}
}

// renumber closes the gaps that deleted documents left.
func (ix *Index[ID, F]) renumber() {
	old := *ix
	*ix = Index[ID, F]{k: old.k, number: make(map[ID]uint32, len(old.number)), tables: newTables(width[F](), old.k)}
	for n, doc := range old.docs {
		if !old.dead[n] {
			ix.Add(doc.id, doc.fp)
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
	if ix.tables == nil {
		return ix.scan(fp)
	}
	return func(yield func(Match[ID]) bool) {
		lo, hi := split(fp)
		for first := 0; first < len(ix.tables); first += abreast {
			// Touch all the buckets before reading the first, so that they are
			// fetched from memory side by side and not one after the other.
			var buckets [abreast][]uint32
			touched := uint32(0)
			group := ix.tables[first:min(first+abreast, len(ix.tables))]
			for i := range group {
				b := group[i].bucket(group[i].key(lo, hi))
				touched |= b[0] | b[len(b)/2] | b[len(b)-1]
				buckets[i] = b
			}
			if touched == 0 {
				continue
			}
			for i := range group {
				t := &group[i]
				tag := t.tag(lo, hi)
				for b := buckets[i]; b != nil; b = t.next(b) {
					for from := 0; from < int(b[0]); from += 64 {
						mask := matchTags(b[header+from:header+int(b[0])], tag, ix.k)
						for ; mask != 0; mask &= mask - 1 {
							n := from + bits.TrailingZeros64(mask)
							doc := &ix.docs[b[header+t.room+n]]
							xlo, xhi := split(doc.fp)
							xlo, xhi = xlo^lo, xhi^hi
							d := bits.OnesCount64(xlo) + bits.OnesCount64(xhi)
							if d > ix.k || earlier(ix.tables[:first+i], xlo, xhi) {
								continue
							}
							if !yield(Match[ID]{doc.id, d}) {
								return
							}
						}
					}
				}
			}
		}
	}
}

// scan is Search without tables.
func (ix *Index[ID, F]) scan(fp F) iter.Seq[Match[ID]] {
	return func(yield func(Match[ID]) bool) {
		lo, hi := split(fp)
		for n := range ix.docs {
			xlo, xhi := split(ix.docs[n].fp)
			d := bits.OnesCount64(xlo^lo) + bits.OnesCount64(xhi^hi)
			if d <= ix.k && (ix.dead == nil || !ix.dead[n]) && !yield(Match[ID]{ix.docs[n].id, d}) {
				return
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
	ids := make([]ID, 0, ix.Len())
	fps := make([]F, 0, ix.Len())
	for n, doc := range ix.docs {
		if ix.dead == nil || !ix.dead[n] {
			ids = append(ids, doc.id)
			fps = append(fps, doc.fp)
		}
	}
	return ids, fps
}

// A table leads from the value of a block to the fingerprints that have it.
//
//	bucket:  len  next | tag 0 … tag room−1 | ordinal 0 … ordinal room−1
//
// An entry is the ordinal of a fingerprint and a tag, 32 of its bits outside the
// block. A search compares tags and turns to the fingerprint itself only if the
// tags differ in at most k bits. Buckets are all of one size, whole cache lines,
// and lie in the order of their keys, so the key is the address and a lookup
// waits for memory once. A bucket that is full overflows into a chain of extra
// ones. When a table has grown by an eighth it is laid out anew, with as many
// buckets and as much room in each as hold nearly all without overflow.
type table struct {
	shift, width int // the block, counted from bit 0 of the fingerprint
	tagShift     int // the tag, a multiple of 32
	mask         uint64
	room         int      // entries in a bucket
	main         []uint32 // the buckets by key
	extra        []uint32 // the overflow, newest first in each chain
	free         uint32   // chain of unused buckets in extra
	size         int      // entries
	limit        int      // the size at which to lay out anew
}

const (
	header  = 2  // words of a bucket before the tags
	maxKey  = 16 // bits in a key
	abreast = 4  // buckets fetched side by side
)

// newTables returns the tables for fingerprints of so many bits, or nil if a
// scan of all fingerprints would take no longer than they.
func newTables(width, k int) []table {
	tables := make([]table, 0, k+1)
	cost := 0.0 // of a search, in fingerprints scanned, per fingerprint
	for b := range k + 1 {
		from, to := width*b/(k+1), width*(b+1)/(k+1)
		t := table{shift: from, width: min(to-from, maxKey), tagShift: (to + 31) / 32 * 32 % width}
		t.layout(nil)
		tables = append(tables, t)
		cost += (1 + 30*passing(k)) / float64(uint64(1)<<t.width)
	}
	if cost > 0.5 {
		return nil
	}
	return tables
}

// passing returns the share of random tags that are within k bits of another.
func passing(k int) float64 {
	sum, term := 0.0, 1.0
	for i := 0; i <= min(k, 32); i++ {
		sum += term
		term = term * float64(32-i) / float64(i+1)
	}
	return sum / (1 << 32)
}

// key returns the bucket of a fingerprint. A block may reach from lo into hi.
func (t *table) key(lo, hi uint64) uint64 {
	switch {
	case t.shift >= 64:
		return hi >> (t.shift - 64) & t.mask
	case t.shift > 64-maxKey:
		return (lo>>t.shift | hi<<(64-t.shift)) & t.mask
	}
	return lo >> t.shift & t.mask
}

func (t *table) tag(lo, hi uint64) uint32 {
	if t.tagShift >= 64 {
		return uint32(hi >> (t.tagShift - 64))
	}
	return uint32(lo >> t.tagShift)
}

// stride returns the words of a bucket.
func (t *table) stride() int { return header + 2*t.room }

func (t *table) bucket(key uint64) []uint32 {
	return t.main[int(key)*t.stride():][:t.stride()]
}

// next returns the bucket that follows in the chain, or nil.
func (t *table) next(b []uint32) []uint32 {
	if b[1] == 0 {
		return nil
	}
	return t.overflow(b[1])
}

// overflow returns an extra bucket by its number, from 1.
func (t *table) overflow(at uint32) []uint32 {
	return t.extra[int(at-1)*t.stride():][:t.stride()]
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

// add stores an entry. words gives the fingerprint of an ordinal.
func (t *table) add(ord uint32, words func(ord uint32) (lo, hi uint64)) {
	if t.size == t.limit {
		t.layout(words)
	}
	t.size++
	lo, hi := words(ord)
	t.insert(t.key(lo, hi), t.tag(lo, hi), ord)
}

func (t *table) insert(key uint64, tag, ord uint32) {
	b := t.bucket(key)
	if int(b[0]) == t.room { // go to the newest extra bucket, with one more if it is full
		first := t.next(b)
		if first == nil || int(first[0]) == t.room {
			at := t.free
			if at != 0 {
				t.free = t.overflow(at)[1]
			} else {
				t.extra = append(t.extra, make([]uint32, t.stride())...)
				at = uint32(len(t.extra) / t.stride())
			}
			first = t.overflow(at)
			first[0], first[1] = 0, b[1]
			b[1] = at
		}
		b = first
	}
	n := int(b[0])
	b[header+n], b[header+t.room+n] = tag, ord
	b[0]++
}

// remove takes an entry out and puts the newest of its chain in its place.
func (t *table) remove(ord uint32, lo, hi uint64) {
	home := t.bucket(t.key(lo, hi))
	newest := home
	if b := t.next(home); b != nil {
		newest = b
	}
	for b := home; b != nil; b = t.next(b) {
		for i := range int(b[0]) {
			if b[header+t.room+i] != ord {
				continue
			}
			last := int(newest[0]) - 1
			b[header+i], b[header+t.room+i] = newest[header+last], newest[header+t.room+last]
			newest[0]--
			if last == 0 && home[1] != 0 {
				at := home[1]
				home[1] = newest[1]
				newest[1], t.free = t.free, at
			}
			t.size--
			return
		}
	}
}

// layout lays the table out anew, with room to grow by an eighth.
func (t *table) layout(words func(ord uint32) (lo, hi uint64)) {
	old := *t
	t.limit = t.size + t.size/8 + 64
	keyBits := min(t.width, max(0, bits.Len(uint(t.limit/12))))
	load := float64(t.limit) / float64(uint64(1)<<keyBits)
	t.mask = 1<<keyBits - 1
	t.room = int(load+1.5*math.Sqrt(load))/8*8 + 7 // so that a bucket is whole lines
	t.main = make([]uint32, t.stride()<<keyBits)
	t.extra, t.free = nil, 0
	for key := range uint64(len(old.main) / old.stride()) {
		for b := old.bucket(key); b != nil; b = old.next(b) {
			tags, ords := b[header:][:b[0]], b[header+old.room:][:b[0]]
			for i, ord := range ords {
				if t.mask == old.mask {
					t.insert(key, tags[i], ord)
				} else {
					lo, hi := words(ord)
					t.insert(t.key(lo, hi), tags[i], ord)
				}
			}
		}
	}
}
