package neardup

import (
	"bufio"
	"bytes"
	"fmt"
	"sync/atomic"
)

// A snapshot is a run in a file, which is used as it is, without reading it whole. It
// begins with records in the form of all files of this package (file.go):
//
//	settings   kind of the ids, number of documents and of blocks, the identity of the
//	           snapshot before, the length of each column
//	finder     its own records: the nodes of a tree, without the columns of their tables
//	sums       the checksum of each block of the columns, seeded with its number
//
// and goes on, from the next multiple of 4096 bytes, with the columns, one after the
// other, each from a multiple of 64 bytes on, little-endian:
//
//	documents, times, ids by hash (starts, ordinals), ids (integers; or ends of 64 bits and
//	bytes), and the columns of the finder: of a tree copies (first, starts, all), starts of
//	all tables, entries of all tables; and of documents that differ in length their ends
//
// The checksum of the records, which depends on those of the blocks, is the identity of
// the snapshot.
const (
	firstColumn   = 4096 // alignment of the first one
	columnAlign   = 64
	ownColumns    = 6
	fixedColumns  = ownColumns + len(finderColumns[int]{})
	columnCount   = fixedColumns + 1
	sumsPerRecord = 1024
)

// runColumns returns the columns of a run as bytes, each in parts.
func runColumns[ID comparable, T finder](r *run[ID, T], it *idType[ID]) (columns [columnCount][][]byte, err error) {
	var ints []uint64
	var text []byte
	for ord := range uint32(r.len()) {
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
	columns = [columnCount][][]byte{{asBytes(r.docs)}, {asBytes(r.times)}, {asBytes(r.starts)}, {asBytes(r.ords)}, {asBytes(ints)}, {text}}
	columns[fixedColumns] = [][]byte{asBytes(r.ends)}
	for i, c := range r.find.columns() {
		columns[ownColumns+i] = c
	}
	return columns, nil
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
func writeSnapshot[ID comparable, T finder](path, version string, before uint64, r *run[ID, T], form *form[T], it *idType[ID]) (identity uint64, err error) {
	columns, err := runColumns(r, it)
	if err != nil {
		return 0, err
	}
	return writeColumns(path, form.kind, version, before, r.len(), r.find, it.kind, columns, form.columns())
}

// writeColumns writes a snapshot of columns, of which it has so many.
func writeColumns(path, kind, version string, before uint64, docs int, find finder, ids idKind, columns [columnCount][][]byte, has int) (identity uint64, err error) {
	var sums []uint64
	inBlocks(columns, func(b []byte) error {
		sums = append(sums, checksum(b, uint64(len(sums))))
		return nil
	})
	var front bytes.Buffer
	f := newFileWriter(&front, kind, version)
	f.text(string(ids))
	f.uvarint(uint64(docs))
	f.uvarint(uint64(len(sums)))
	f.uint64(before)
	for _, c := range columns[:has] {
		f.uvarint(uint64(length(c)))
	}
	f.endRecord()
	find.write(f)
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

// A snapshot that was opened.
type snapshot[ID comparable, T finder] struct {
	run      *run[ID, T]
	identity uint64
	before   uint64
}

// openSnapshot opens a file that writeSnapshot wrote. It reads the records and nothing
// else, if the file can be mapped.
func openSnapshot[ID comparable, T finder](path, version string, form *form[T], it *idType[ID], serial uint32) (*snapshot[ID, T], error) {
	m, err := openMapping(path)
	if err != nil {
		return nil, err
	}
	from := bytes.NewReader(m.data)
	f, err := newFileReader(from, form.kind, version, form.again)
	if err != nil {
		return nil, err
	}
	f.goesOn = true
	f.next()
	kind := idKind(f.text())
	docs := int(f.uvarint(maxDocuments))
	blocks := int(f.uvarint(uint64(len(m.data))))
	s := &snapshot[ID, T]{before: f.uint64()}
	var lengths [columnCount]int
	for i := range form.columns() {
		lengths[i] = int(f.uvarint(uint64(len(m.data))))
	}
	if f.err == nil && kind != it.kind {
		return nil, fmt.Errorf("neardup: the file was %w: it holds %s ids, not %s", ErrVersion, shown(string(kind)), it.kind)
	}
	find := form.read(f)
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
	if len(columns[1])/4 != docs || form.words > 0 && len(columns[0])/8/form.words != docs { // before memory is taken for them
		return nil, errColumns
	}
	r := &run[ID, T]{find: find, docColumn: docColumn{words: form.words}, live: docs, serial: serial, dead: make([]atomic.Uint64, (docs+63)/64)}
	s.run = r
	if !m.real {
		if err := m.verify(); err != nil {
			return nil, err
		}
	} else {
		r.file = m
	}
	r.docs, r.ends = numbers[uint64](columns[0]), numbers[uint64](columns[fixedColumns])
	r.times = numbers[uint32](columns[1])
	r.starts, r.ords = numbers[uint32](columns[2]), numbers[uint32](columns[3])
	ids := fileColumn[ID]{file: r.file, it: it, ints: numbers[uint64](columns[4]), text: columns[5]}
	r.ids = &ids
	if r.words > 0 && len(r.docs) != docs*r.words || r.words == 0 && len(r.ends) != docs || len(r.times) != docs || len(r.starts) != 1<<idBits(docs)+1 || len(r.ords) != docs || len(ids.ints) != docs {
		return nil, errColumns
	}
	return s, find.attach(r.docColumn, r.file, finderColumns[[]byte](columns[ownColumns:fixedColumns]))
}

var errColumns = damaged("columns of the wrong length")

// damaged returns an ErrDamaged.
func damaged(format string, args ...any) error {
	return fmt.Errorf("neardup: %w: %s", ErrDamaged, fmt.Sprintf(format, args...))
}
