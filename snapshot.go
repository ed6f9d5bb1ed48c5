package neardup

import (
	"bufio"
	"bytes"
	"fmt"
	"math/bits"
	"sync/atomic"
)

// A snapshot is a run in a file, which is used as it is, without reading it whole. It
// begins with records in the form of all files of this package (file.go):
//
//	settings   distance, kind of the ids, number of documents, of nodes and of blocks,
//	           the identity of the snapshot before, the length of each column
//	nodes      as they are in memory, without the columns of their tables
//	sums       the checksum of each block of the columns, seeded with its number
//
// and goes on, from the next multiple of 4096 bytes, with the columns, one after the
// other, each from a multiple of 64 bytes on, little-endian:
//
//	fingerprints, times, ids by hash (starts, ordinals), copies (first, starts, all), ids
//	(integers; or ends of 64 bits and bytes), starts of all tables, entries of all tables
//
// The checksum of the records, which depends on those of the blocks, is the identity of
// the snapshot.
const (
	firstColumn   = 4096 // alignment of the first one
	columnAlign   = 64
	columnCount   = 11
	sumsPerRecord = 1024
)

func snapshotKind(words int) string { return fmt.Sprintf("index%d", 64*words) }

// runColumns returns the columns of a run as bytes, each in parts.
func runColumns[ID comparable](r *run[ID], it *idType[ID]) (columns [columnCount][][]byte, err error) {
	t := r.tree
	var starts, entries [][]byte
	for i := range t.nodes {
		for j := range t.nodes[i].tables {
			starts = append(starts, asBytes(t.nodes[i].tables[j].starts))
			entries = append(entries, asBytes(t.nodes[i].tables[j].entries))
		}
	}
	var ints []uint64
	var text []byte
	for ord := range uint32(t.len()) {
		id, err := r.ids.at(ord)
		if err != nil {
			return columns, err
		}
		if it.integer {
			ints = append(ints, it.toInt(id))
			continue
		}
		if text, err = it.appendChecked(text, id); err != nil {
			return columns, fmt.Errorf("id %v: %w", id, err)
		}
		ints = append(ints, uint64(len(text)))
	}
	return [columnCount][][]byte{{asBytes(t.fps)}, {asBytes(r.times)}, {asBytes(r.starts)}, {asBytes(r.ords)},
		{asBytes(t.copies.first)}, {asBytes(t.copies.start)}, {asBytes(t.copies.all)},
		{asBytes(ints)}, {text}, starts, entries}, nil
}

// A blockWriter cuts what is written into blocks.
type blockWriter struct {
	buf   []byte
	block func(b []byte) error
}

func (w *blockWriter) write(b []byte) error {
	for len(b) > 0 {
		n := copy(w.buf[len(w.buf):cap(w.buf)], b)
		w.buf = w.buf[:len(w.buf)+n]
		b = b[n:]
		if len(w.buf) == cap(w.buf) {
			if err := w.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *blockWriter) flush() error {
	if len(w.buf) == 0 {
		return nil
	}
	err := w.block(w.buf)
	w.buf = w.buf[:0]
	return err
}

// inBlocks calls block with the columns as they are in the file.
func inBlocks(columns [columnCount][][]byte, block func(b []byte) error) error {
	w := blockWriter{buf: make([]byte, 0, fileBlock), block: block}
	for _, parts := range columns {
		for _, part := range parts {
			if err := w.write(part); err != nil {
				return err
			}
		}
		if err := w.write(make([]byte, -length(parts)&(columnAlign-1))); err != nil {
			return err
		}
	}
	return w.flush()
}

func length(parts [][]byte) int {
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	return n
}

// writeSnapshot writes a run to a file, atomically: afterwards the file is the new one,
// on the disk, or as it was. before is the identity of the snapshot that it follows. It
// returns its own.
func writeSnapshot[ID comparable](path, version string, before uint64, r *run[ID], it *idType[ID]) (identity uint64, err error) {
	columns, err := runColumns(r, it)
	if err != nil {
		return 0, err
	}
	return writeColumns(path, version, before, r.tree, it.kind, columns)
}

// writeColumns writes a snapshot of columns.
func writeColumns(path, version string, before uint64, t *tree, kind idKind, columns [columnCount][][]byte) (identity uint64, err error) {
	var sums []uint64
	inBlocks(columns, func(b []byte) error {
		sums = append(sums, checksum(b, uint64(len(sums))))
		return nil
	})
	var front bytes.Buffer
	f := newFileWriter(&front, snapshotKind(t.words), version)
	f.uvarint(uint64(t.distance))
	f.text(string(kind))
	f.uvarint(uint64(t.len()))
	f.uvarint(uint64(len(t.nodes)))
	f.uvarint(uint64(len(sums)))
	f.uint64(before)
	for _, c := range columns {
		f.uvarint(uint64(length(c)))
	}
	f.endRecord()
	for i := range t.nodes {
		t.nodes[i].write(f)
	}
	for i, s := range sums {
		if f.uint64(s); i%sumsPerRecord == sumsPerRecord-1 || i == len(sums)-1 {
			f.endRecord()
		}
	}
	if err := f.close(); err != nil {
		return 0, err
	}
	front.Write(make([]byte, -front.Len()&(firstColumn-1)))
	return f.sum, replaceFile(path, func(w *bufio.Writer) error {
		if _, err := w.Write(front.Bytes()); err != nil {
			return err
		}
		return inBlocks(columns, func(b []byte) error {
			_, err := w.Write(b)
			return err
		})
	})
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

// A snapshot that was opened.
type snapshot[ID comparable] struct {
	run      *run[ID]
	identity uint64
	before   uint64
}

// openSnapshot opens a file that writeSnapshot wrote. It reads the records and nothing
// else, if the file can be mapped.
func openSnapshot[ID comparable](path, version string, words int, it *idType[ID], serial uint32) (*snapshot[ID], error) {
	m, err := openMapping(path)
	if err != nil {
		return nil, err
	}
	from := bytes.NewReader(m.data)
	f, err := newFileReader(from, snapshotKind(words), version, fingerprintAgain)
	if err != nil {
		return nil, err
	}
	f.goesOn = true
	f.next()
	t := &tree{words: words, foreign: true, distance: int(f.uvarint(uint64(64 * words)))}
	kind := idKind(f.text())
	docs := int(f.uvarint(maxFingerprints))
	nodes := int(f.uvarint(maxFingerprints))
	blocks := int(f.uvarint(uint64(len(m.data))))
	s := &snapshot[ID]{before: f.uint64()}
	var lengths [columnCount]int
	for i := range lengths {
		lengths[i] = int(f.uvarint(uint64(len(m.data))))
	}
	if f.err == nil && kind != it.kind {
		return nil, fmt.Errorf("neardup: the file was %w: it holds %s ids, not %s", ErrVersion, shown(string(kind)), it.kind)
	}
	if f.err == nil && (docs == 0) != (nodes == 0) {
		f.fail("%d documents, %d nodes", docs, nodes)
	}
	// Every node takes bytes of the file, so a claim of many that are not there ends early.
	var entries []int // of each table
	for len(t.nodes) < nodes && f.err == nil {
		if !f.next() {
			f.fail("nodes are missing")
			break
		}
		var n node
		n, entries = f.node(words, len(m.data), entries)
		t.nodes = append(t.nodes, n)
	}
	for len(m.sums) < blocks && f.err == nil {
		if !f.next() {
			f.fail("checksums are missing")
			break
		}
		for range min(sumsPerRecord, blocks-len(m.sums)) {
			m.sums = append(m.sums, f.uint64())
		}
	}
	if f.err == nil && f.next() {
		f.fail("records that do not belong there")
	}
	if f.err != nil {
		return nil, f.err
	}
	s.identity = f.sum
	m.good = make([]atomic.Uint64, (blocks+63)/64)
	m.first = (len(m.data) - from.Len() - f.r.Buffered() + firstColumn - 1) &^ (firstColumn - 1)
	for i := m.first - 1; i >= 0 && i < len(m.data) && i >= len(m.data)-from.Len()-f.r.Buffered(); i-- {
		if m.data[i] != 0 {
			return nil, damaged("byte %d is not 0", i)
		}
	}
	at := m.first
	var columns [columnCount][]byte
	for i, n := range lengths {
		if n > len(m.data)-at {
			return nil, damaged("it ends early: %d bytes, and a column from byte %d to %d", len(m.data), at, at+n)
		}
		columns[i] = m.data[at : at+n : at+n]
		at = min(len(m.data), at+n+-n&(columnAlign-1))
	}
	if at != len(m.data) || (at-m.first+fileBlock-1)/fileBlock != blocks {
		return nil, damaged("%d bytes where there should be %d, in %d blocks", len(m.data), at, blocks)
	}
	if !m.real {
		if err := m.verify(); err != nil {
			return nil, err
		}
	} else {
		t.file = m
	}
	r := &run[ID]{tree: t, live: docs, serial: serial, dead: make([]atomic.Uint64, (docs+63)/64)}
	s.run = r
	return s, s.setColumns(columns, docs, entries, it)
}

// setColumns gives a run its columns.
func (s *snapshot[ID]) setColumns(columns [columnCount][]byte, docs int, sizes []int, it *idType[ID]) error {
	r, t := s.run, s.run.tree
	t.fps = numbers[uint64](columns[0])
	r.times = numbers[uint32](columns[1])
	r.starts, r.ords = numbers[uint32](columns[2]), numbers[uint32](columns[3])
	t.copies = copies{numbers[uint32](columns[4]), numbers[uint32](columns[5]), numbers[uint32](columns[6])}
	ids := fileColumn[ID]{file: t.file, it: it, ints: numbers[uint64](columns[7]), text: columns[8]}
	r.ids = &ids
	starts, entries := numbers[uint32](columns[9]), numbers[uint32](columns[10])
	c := &t.copies
	if len(t.fps) != docs*t.words || len(r.times) != docs || len(r.starts) != 1<<idBits(docs)+1 || len(r.ords) != docs ||
		len(ids.ints) != docs || len(c.first) > 0 && len(c.start) != len(c.first)+1 || len(c.all) > docs {
		return damaged("columns of the wrong length")
	}
	for i := range t.nodes {
		for j := range t.nodes[i].tables {
			tb := &t.nodes[i].tables[j]
			n, e := 1<<tb.bits+1, sizes[0]
			sizes = sizes[1:]
			if n > len(starts) || e > len(entries) {
				return damaged("columns of the wrong length")
			}
			tb.starts, starts = starts[:n:n], starts[n:]
			tb.entries, entries = entries[:e:e], entries[e:]
		}
	}
	if len(starts) != 0 || len(entries) != 0 {
		return damaged("columns of the wrong length")
	}
	t.reach = t.farthest()
	return nil
}

// node reads a node whose record has begun, and appends how many entries its tables have,
// most at the most.
func (f *fileReader) node(words, most int, entries []int) (node, []int) {
	var n node
	n.parent, n.under = int(f.uvarint(maxFingerprints)), int(f.uvarint(maxTables))
	for w := range n.fixed {
		n.fixed[w], n.value[w] = f.uint64(), f.uint64()
	}
	n.count = int(f.uvarint(maxFingerprints))
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
		entries = append(entries, int(f.uvarint(uint64(most))))
		n.tables = append(n.tables, t)
	}
	return n, entries
}

// damaged returns an ErrDamaged.
func damaged(format string, args ...any) error {
	return fmt.Errorf("neardup: %w: %s", ErrDamaged, fmt.Sprintf(format, args...))
}
