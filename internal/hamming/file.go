package hamming

import (
	"math/bits"

	"github.com/neardup/neardup/internal/format"
	"github.com/neardup/neardup/internal/store"
)

// This file stores a [Tree] in a snapshot; see internal/store/snapshot.go. What is small goes into
// records, which are read and checked when the file is opened:
//
//	tree     distance, number of nodes
//	node     parent, table there, fixed bits and their values, number of fingerprints,
//	         whether its tables are for combinations of blocks, number of tables;
//	         then its tables
//	table    number of pieces; word, shift and width of each; where the tag begins;
//	         number of entries
//
// What is large goes into five columns, which are mapped and used where they are:
//
//	0  Copies.first
//	1  Copies.Start
//	2  Copies.All
//	3  Starts of all tables, one after the other, in the order of the records
//	4  entries of all tables, likewise
//
// A reader trusts nothing. Reading the records checks every number against its bound. Reading the
// columns in advance would take too long, so [Tree.Search] checks each number of theirs before it
// is used as an index. So a file, whatever it holds, may give an error or wrong matches, but no
// index is out of range, and no node is searched twice.

// Write writes the records of the tree.
func (t *Tree) Write(f *format.Writer) {
	f.Uvarint(uint64(t.distance))
	f.Uvarint(uint64(len(t.Nodes)))
	f.EndRecord()
	for i := range t.Nodes {
		t.Nodes[i].write(f)
	}
}

// Columns returns the columns of the tree. They share memory with it on a little-endian machine.
func (t *Tree) Columns() store.FinderColumns[[][]byte] {
	var starts, entries [][]byte
	for i := range t.Nodes {
		for j := range t.Nodes[i].Tables {
			starts = append(starts, store.AsBytes(t.Nodes[i].Tables[j].Starts))
			entries = append(entries, store.AsBytes(t.Nodes[i].Tables[j].entries))
		}
	}
	return store.FinderColumns[[][]byte]{{store.AsBytes(t.Copies.first)}, {store.AsBytes(t.Copies.Start)}, {store.AsBytes(t.Copies.All)}, starts, entries}
}

// ReadTree reads the records of a tree whose fingerprints have the given number of words. The tree
// can be searched after [Tree.Attach]. The error is in f.
func ReadTree(f *format.Reader, words int) *Tree {
	f.Next()
	t := &Tree{words: words, foreign: true, distance: int(f.Uvarint(uint64(64 * words)))}
	nodes := int(f.Uvarint(store.MaxDocuments))
	// Nodes are appended as they are read and not allocated in advance. Every node takes bytes of
	// the file, so a file that claims more nodes than it has ends early.
	for len(t.Nodes) < nodes && f.Err == nil {
		if !f.Next() {
			f.Fail("nodes are missing")
			break
		}
		var n node
		n, t.sizes = readNode(f, words, t.sizes)
		t.Nodes = append(t.Nodes, n)
	}
	return t
}

// Attach gives a tree from [ReadTree] its fingerprints and its columns, and makes it ready to
// search. It cuts the last two columns into tables: the length of Starts follows from the bits of
// the key, and the record of the table has the number of entries. What it returns is an error if
// the lengths do not add up. file is the mapping that holds the slices, or nil if they are known
// to be as they were written.
func (t *Tree) Attach(docs store.Column, file *store.Mapping, columns store.FinderColumns[[]byte]) error {
	t.fps, t.File = docs.Docs, file
	t.Copies = copies{store.Numbers[uint32](columns[0]), store.Numbers[uint32](columns[1]), store.Numbers[uint32](columns[2])}
	starts, entries := store.Numbers[uint32](columns[3]), store.Numbers[uint32](columns[4])
	c := &t.Copies
	// An empty tree has no nodes, and any other has a root, maybe without tables.
	if (t.Len() == 0) != (len(t.Nodes) == 0) {
		return format.Damaged("%d documents, %d nodes", t.Len(), len(t.Nodes))
	}
	if len(c.first) > 0 && len(c.Start) != len(c.first)+1 || len(c.All) > t.Len() {
		return store.ErrColumns
	}
	for i := range t.Nodes {
		for j := range t.Nodes[i].Tables {
			tb := &t.Nodes[i].Tables[j]
			n, e := 1<<tb.Bits+1, t.sizes[0] // lengths of Starts and of entries
			t.sizes = t.sizes[1:]
			if n > len(starts) || e > len(entries) {
				return store.ErrColumns
			}
			tb.Starts, starts = starts[:n:n], starts[n:]
			tb.entries, entries = entries[:e:e], entries[e:]
		}
	}
	if len(starts) != 0 || len(entries) != 0 { // the columns hold more than the tables
		return store.ErrColumns
	}
	t.Reach = t.farthest() // follows from the tables and is not stored
	return nil
}

// write writes the record of the node and those of its tables. The mask, the number of bits and the
// tag's mask of a table follow from its pieces.
func (n *node) write(f *format.Writer) {
	f.Uvarint(uint64(n.parent))
	f.Uvarint(uint64(n.Under))
	for w := range n.fixed {
		f.Uint64(n.fixed[w])
		f.Uint64(n.Value[w])
	}
	f.Uvarint(uint64(n.count))
	combos := uint64(0)
	if n.Combos {
		combos = 1
	}
	f.Uvarint(combos)
	f.Uvarint(uint64(len(n.Tables)))
	f.EndRecord()
	for i := range n.Tables {
		t := &n.Tables[i]
		f.Uvarint(uint64(len(t.pieces)))
		for _, p := range t.pieces {
			f.Uvarint(uint64(p.word))
			f.Uvarint(uint64(p.shift))
			f.Uvarint(uint64(p.width))
		}
		f.Uvarint(uint64(t.tagShift))
		f.Uvarint(uint64(len(t.entries)))
		f.EndRecord()
	}
}

// readNode reads a node whose record has begun, and the records of its tables. It appends the
// number of entries of each table to entries. Each number has an upper bound, so that all shifts
// and array indexes that depend on it are in range:
//
//   - A piece lies within its word, and a key has at most [MaxKeyBits] bits, so Starts has at most
//     2²⁶+1 numbers.
//   - No bit is in a key twice, so the mask has as many bits as the key.
//   - A tag begins at a multiple of 32 and ends within the fingerprint.
//
// Links between nodes need no check here; see [Tree.isChild].
func readNode(f *format.Reader, words int, entries []int) (node, []int) {
	var n node
	n.parent, n.Under = int(f.Uvarint(store.MaxDocuments)), int(f.Uvarint(MaxTables))
	for w := range n.fixed {
		n.fixed[w], n.Value[w] = f.Uint64(), f.Uint64()
	}
	n.count = int(f.Uvarint(store.MaxDocuments))
	n.Combos = f.Uvarint(1) == 1
	tables := int(f.Uvarint(MaxTables))
	for range tables {
		if !f.Next() {
			f.Fail("tables are missing")
			break
		}
		var t Table
		for range f.Uvarint(MaxKeyBits) {
			p := piece{word: uint8(f.Uvarint(uint64(words - 1))), shift: uint8(f.Uvarint(63)), width: uint8(f.Uvarint(MaxKeyBits)), at: uint8(t.Bits)}
			if t.Bits += int(p.width); int(p.shift)+int(p.width) > 64 || t.Bits > MaxKeyBits {
				f.Fail("a key that is too long")
				break // before the piece is used: its shift may be too large
			}
			t.mask[p.word] |= (1<<p.width - 1) << p.shift
			t.pieces = append(t.pieces, p)
		}
		t.tagShift = int(f.Uvarint(uint64(64*words-32))) &^ 31
		t.tagMask = ^uint32(t.mask[t.tagShift/64] >> (t.tagShift % 64))
		if bits.OnesCount64(t.mask[0])+bits.OnesCount64(t.mask[1]) != t.Bits {
			f.Fail("a key that has a bit twice")
		}
		entries = append(entries, int(f.Uvarint(1<<31-1)))
		n.Tables = append(n.Tables, t)
	}
	return n, entries
}
