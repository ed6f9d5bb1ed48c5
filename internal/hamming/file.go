package hamming

import (
	"math/bits"

	"github.com/neardup/neardup/internal/format"
	"github.com/neardup/neardup/internal/store"
)

// A tree in a file (see snapshot.go) is a record with its distance and the number of its
// nodes, then the nodes, each followed by its tables, and five columns.

func (t *Tree) Write(f *format.Writer) {
	f.Uvarint(uint64(t.distance))
	f.Uvarint(uint64(len(t.Nodes)))
	f.EndRecord()
	for i := range t.Nodes {
		t.Nodes[i].write(f)
	}
}

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

// ReadTree reads what write wrote.
func ReadTree(f *format.Reader, words int) *Tree {
	f.Next()
	t := &Tree{words: words, foreign: true, distance: int(f.Uvarint(uint64(64 * words)))}
	nodes := int(f.Uvarint(store.MaxDocuments))
	// Every node takes bytes of the file, so a claim of many that are not there ends early.
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

func (t *Tree) Attach(docs store.Column, file *store.Mapping, columns store.FinderColumns[[]byte]) error {
	t.fps, t.File = docs.Docs, file
	t.Copies = copies{store.Numbers[uint32](columns[0]), store.Numbers[uint32](columns[1]), store.Numbers[uint32](columns[2])}
	starts, entries := store.Numbers[uint32](columns[3]), store.Numbers[uint32](columns[4])
	c := &t.Copies
	if (t.Len() == 0) != (len(t.Nodes) == 0) {
		return format.Damaged("%d documents, %d nodes", t.Len(), len(t.Nodes))
	}
	if len(c.first) > 0 && len(c.Start) != len(c.first)+1 || len(c.All) > t.Len() {
		return store.ErrColumns
	}
	for i := range t.Nodes {
		for j := range t.Nodes[i].Tables {
			tb := &t.Nodes[i].Tables[j]
			n, e := 1<<tb.Bits+1, t.sizes[0]
			t.sizes = t.sizes[1:]
			if n > len(starts) || e > len(entries) {
				return store.ErrColumns
			}
			tb.Starts, starts = starts[:n:n], starts[n:]
			tb.entries, entries = entries[:e:e], entries[e:]
		}
	}
	if len(starts) != 0 || len(entries) != 0 {
		return store.ErrColumns
	}
	t.Reach = t.farthest()
	return nil
}

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

// readNode reads a node whose record has begun, and appends how many entries its tables have.
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
				break
			}
			t.mask[p.word] |= (1<<p.width - 1) << p.shift
			t.pieces = append(t.pieces, p)
		}
		t.tagShift = int(f.Uvarint(uint64(64*words-32))) &^ 31
		t.tagMask = ^uint32(t.mask[t.tagShift/64] >> (t.tagShift % 64))
		if bits.OnesCount64(t.mask[0])+bits.OnesCount64(t.mask[1]) != t.Bits {
			f.Fail("a key with a bit twice")
		}
		entries = append(entries, int(f.Uvarint(1<<31-1)))
		n.Tables = append(n.Tables, t)
	}
	return n, entries
}
