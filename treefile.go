package neardup

import (
	"math/bits"
)

// A tree in a file (see snapshot.go) is a record with its distance and the number of its
// nodes, then the nodes, each followed by its tables, and five columns.

func (t *tree) write(f *fileWriter) {
	f.uvarint(uint64(t.distance))
	f.uvarint(uint64(len(t.nodes)))
	f.endRecord()
	for i := range t.nodes {
		t.nodes[i].write(f)
	}
}

func (t *tree) columns() finderColumns[[][]byte] {
	var starts, entries [][]byte
	for i := range t.nodes {
		for j := range t.nodes[i].tables {
			starts = append(starts, asBytes(t.nodes[i].tables[j].starts))
			entries = append(entries, asBytes(t.nodes[i].tables[j].entries))
		}
	}
	return finderColumns[[][]byte]{{asBytes(t.copies.first)}, {asBytes(t.copies.start)}, {asBytes(t.copies.all)}, starts, entries}
}

// tree reads what write wrote.
func (f *fileReader) tree(words int) *tree {
	f.next()
	t := &tree{words: words, foreign: true, distance: int(f.uvarint(uint64(64 * words)))}
	nodes := int(f.uvarint(maxDocuments))
	// Every node takes bytes of the file, so a claim of many that are not there ends early.
	for len(t.nodes) < nodes && f.err == nil {
		if !f.next() {
			f.fail("nodes are missing")
			break
		}
		var n node
		n, t.sizes = f.node(words, t.sizes)
		t.nodes = append(t.nodes, n)
	}
	return t
}

func (t *tree) attach(docs docColumn, file *mapping, columns finderColumns[[]byte]) error {
	t.fps, t.file = docs.docs, file
	t.copies = copies{numbers[uint32](columns[0]), numbers[uint32](columns[1]), numbers[uint32](columns[2])}
	starts, entries := numbers[uint32](columns[3]), numbers[uint32](columns[4])
	c := &t.copies
	if (t.len() == 0) != (len(t.nodes) == 0) {
		return damaged("%d documents, %d nodes", t.len(), len(t.nodes))
	}
	if len(c.first) > 0 && len(c.start) != len(c.first)+1 || len(c.all) > t.len() {
		return errColumns
	}
	for i := range t.nodes {
		for j := range t.nodes[i].tables {
			tb := &t.nodes[i].tables[j]
			n, e := 1<<tb.bits+1, t.sizes[0]
			t.sizes = t.sizes[1:]
			if n > len(starts) || e > len(entries) {
				return errColumns
			}
			tb.starts, starts = starts[:n:n], starts[n:]
			tb.entries, entries = entries[:e:e], entries[e:]
		}
	}
	if len(starts) != 0 || len(entries) != 0 {
		return errColumns
	}
	t.reach = t.farthest()
	return nil
}

func (n *node) write(f *fileWriter) {
	f.uvarint(uint64(n.parent))
	f.uvarint(uint64(n.under))
	for w := range n.fixed {
		f.uint64(n.fixed[w])
		f.uint64(n.value[w])
	}
	f.uvarint(uint64(n.count))
	combos := uint64(0)
	if n.combos {
		combos = 1
	}
	f.uvarint(combos)
	f.uvarint(uint64(len(n.tables)))
	f.endRecord()
	for i := range n.tables {
		t := &n.tables[i]
		f.uvarint(uint64(len(t.pieces)))
		for _, p := range t.pieces {
			f.uvarint(uint64(p.word))
			f.uvarint(uint64(p.shift))
			f.uvarint(uint64(p.width))
		}
		f.uvarint(uint64(t.tagShift))
		f.uvarint(uint64(len(t.entries)))
		f.endRecord()
	}
}

// node reads a node whose record has begun, and appends how many entries its tables have.
func (f *fileReader) node(words int, entries []int) (node, []int) {
	var n node
	n.parent, n.under = int(f.uvarint(maxDocuments)), int(f.uvarint(maxTables))
	for w := range n.fixed {
		n.fixed[w], n.value[w] = f.uint64(), f.uint64()
	}
	n.count = int(f.uvarint(maxDocuments))
	n.combos = f.uvarint(1) == 1
	tables := int(f.uvarint(maxTables))
	for range tables {
		if !f.next() {
			f.fail("tables are missing")
			break
		}
		var t table
		for range f.uvarint(maxKeyBits) {
			p := piece{word: uint8(f.uvarint(uint64(words - 1))), shift: uint8(f.uvarint(63)), width: uint8(f.uvarint(maxKeyBits)), at: uint8(t.bits)}
			if t.bits += int(p.width); int(p.shift)+int(p.width) > 64 || t.bits > maxKeyBits {
				f.fail("a key that is too long")
				break
			}
			t.mask[p.word] |= (1<<p.width - 1) << p.shift
			t.pieces = append(t.pieces, p)
		}
		t.tagShift = int(f.uvarint(uint64(64*words-32))) &^ 31
		t.tagMask = ^uint32(t.mask[t.tagShift/64] >> (t.tagShift % 64))
		if bits.OnesCount64(t.mask[0])+bits.OnesCount64(t.mask[1]) != t.bits {
			f.fail("a key with a bit twice")
		}
		entries = append(entries, int(f.uvarint(1<<31-1)))
		n.tables = append(n.tables, t)
	}
	return n, entries
}
