// Package hamming finds fingerprints by Hamming distance: all fingerprints within a distance of a
// query ([Tree]), and all pairs within a distance of each other ([Join]). Both are exact. Both rest
// on the pigeonhole principle, which plan.go states and proves.
//
//	tree.go         the index
//	search.go       searching it
//	many.go         searching it for many queries at a time
//	plan.go         which tables an index gets, by a cost model
//	build.go        building the index
//	file.go         the index as part of a file
//	join.go         the join: recursive partitioning
//	joinplan.go     which bits a join partitions by
//	partition.go    the radix partitions of the join
//	combinations.go binomial coefficients and combinations
package hamming

import (
	"unsafe"

	"github.com/neardup/neardup/internal/store"
)

// ChildCount returns the number of distinct fingerprints below a bucket that was split into a
// node. place is the bucket's entry of Starts without [SplitBit]. It returns 0 if the file is
// damaged there. It exists for the statistics of an index.
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

// A Tree is an immutable index of fingerprints. It finds the fingerprints within any distance of a
// query. It is safe for concurrent searches.
//
// The root holds the tables of a plan (plan.go). The key of a table is some bits of the
// fingerprint, used as they are, without hashing. It leads to a bucket, which holds all
// fingerprints with this key. The buckets of a table lie side by side in one array:
//
//	Starts   for each key, the number of the entry at which its bucket begins;
//	         one more number for the end of the last bucket
//	entries  for each bucket first its tags, then its ordinals
//
//	from, to = Starts[key], Starts[key+1]
//	entries[2*from : 2*to] = tag 0 … tag c−1, ordinal 0 … ordinal c−1     where c = to−from
//
// An ordinal is the position of a fingerprint in the set. A tag is a copy of 32 bits of the
// fingerprint, with the bits of the key set to 0. The distance of two tags never exceeds the
// distance of their fingerprints. So a search scans the tags, which lie side by side, and loads a
// fingerprint, which is a cache miss, only if its tag is near enough.
//
// A bucket that is much larger than the average of its table is split again (Wang 2019 §2.3, with
// μ = 2). Its members agree on the key, so all their differences lie in the remaining bits, and
// the pigeonhole principle holds for those bits alone. Such a bucket becomes a node with tables of
// its own, whose buckets may be split in turn. Wang 2019 has one such level, with 4 tables of 12
// bits; here every node has its own plan, made for the bits in which its members really differ.
// Equal fingerprints are entered once, however many there are, so any bucket of two or more
// entries has a bit to split by.
type Tree struct {
	words    int      // words of a fingerprint: 1 or 2
	fps      []uint64 // the fingerprints by ordinal, low word first
	Nodes    []node   // the root first, every node before its children
	Copies   copies
	distance int            // the distance the plans were made for
	Reach    int            // the tables beat a scan up to this distance; -1 means never
	foreign  bool           // it comes from a file, whose contents may be wrong
	File     *store.Mapping // if it is mapped: holds the slices and checks them on first use
	sizes    []int          // the number of entries of each table, from ReadTree until Attach
}

// A node is the root, or a bucket that was split. The bits of fixed include the key bits of every
// table on the way from the root.
type node struct {
	parent       int       // the index in Nodes of the node that has it as a bucket; 0 in the root
	Under        int       // the index of the table there
	fixed, Value [2]uint64 // the bits in which all its fingerprints agree, and those bits' values
	count        int       // the number of its distinct fingerprints
	Combos       bool      // its tables are for combinations of blocks; see plan
	Tables       []Table
}

// Radius returns the radius of a table in a search at distance k: a search probes every key that
// differs from the query's key in at most so many bits. Negative means that the search does not
// need the table. Tables for combinations of blocks always have radius 0.
func (n *node) Radius(table, k int) int {
	if n.Combos {
		return 0
	}
	return Radius(table, len(n.Tables), k)
}

// A Table leads from a key to a bucket; see [Tree] for the layout of Starts and entries.
type Table struct {
	pieces   []piece   // how to gather the key, lowest bits first
	mask     [2]uint64 // the bits of the key
	Bits     int       // the number of bits of the key
	tagShift int       // where the tag begins in the fingerprint, a multiple of 32
	tagMask  uint32    // the bits of the tag, which are those outside the key
	Starts   []uint32  // with SplitBit if the bucket was split
	entries  []uint32
}

// A piece of a key is a run of neighbouring bits of one word. The key has width bits from at on,
// which the fingerprint's word has from shift on.
type piece struct{ word, shift, width, at uint8 }

const (
	// SplitBit marks in Starts a bucket that was split. Such a bucket has one entry: the index
	// of its node in place of the tag, and 0 in place of the ordinal.
	SplitBit = 1 << 31

	// copyBit marks the ordinal of a fingerprint that has equal ones in copies.
	copyBit = 1 << 31

	maxDepth  = 12  // nodes on a path, the root included
	fullest   = 256 // a bucket with no more entries is never split
	perBucket = 3   // a bucket with more than so many times the average is split: 1+μ of Wang 2019
)

// copies holds the duplicates. Of equal fingerprints only the one with the lowest ordinal is in
// the tables. The others are found from it:
//
//	All[Start[i]:Start[i+1]] are the ordinals of the fingerprints equal to first[i]
type copies struct {
	first []uint32 // ordinals that have duplicates, ascending
	Start []uint32 // one more than first
	All   []uint32
}

// Bytes returns the memory that the tree takes, without the fingerprints.
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

// Len returns the number of fingerprints, duplicates included.
func (t *Tree) Len() int { return len(t.fps) >> (t.words - 1) }

// at returns the words of a fingerprint; hi is 0 if there is one word.
func (t *Tree) at(ord uint32) (lo, hi uint64) {
	if t.words == 1 {
		return t.fps[ord], 0
	}
	return t.fps[2*ord], t.fps[2*ord+1]
}

// key gathers the key of a fingerprint from its pieces.
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

// tag returns the tag of a fingerprint.
func (t *Table) tag(lo, hi uint64) uint32 {
	if t.tagShift >= 64 {
		lo = hi
	}
	return uint32(lo>>(t.tagShift&63)) & t.tagMask
}
