package store

import (
	"bufio"
	"bytes"
	"fmt"
	"sync/atomic"

	"github.com/neardup/neardup/internal/format"
)

// A snapshot is a run in a file. The file is mapped and used as it is, without being read as a
// whole. It begins with records in the form of all files of the library (package format):
//
//	settings   kind of the ids, number of documents and of blocks, identity of the
//	           snapshot before, length of each column
//	finder     the records of the finder, such as the nodes of a tree without their tables
//	sums       the checksum of each block of the columns, seeded with the block's number
//
// From the next multiple of 4096 bytes on, the columns follow, little-endian. Each column begins at
// a multiple of 64 bytes, with zeros before it:
//
//	documents
//	times
//	ids by hash      starts of the entries, ordinals
//	ids              integers, or ends of 64 bits and bytes
//	five columns of the finder, such as the copies and tables of a tree
//	ends             only if documents differ in length
//
// The blocks of 65,536 bytes are counted from the first column on. The identity of the snapshot is
// the checksum of the records. They have the checksums of all blocks, so the identity stands for
// the whole content.
const (
	firstColumn   = 4096                                   // alignment of the first column
	columnAlign   = 64                                     // alignment of the others
	ownColumns    = 6                                      // of a store, without those of the finder
	FixedColumns  = ownColumns + len(FinderColumns[int]{}) // of a snapshot whose documents have the same length
	columnCount   = FixedColumns + 1                       // of any snapshot
	sumsPerRecord = 1024                                   // a record must fit into a block of package format
)

// RunColumns returns the columns of a run as bytes, each in parts that follow one another. The
// parts may share memory with the run. RunColumns returns an error if an id cannot be read or
// written.
func RunColumns[ID comparable, T Finder](r *Run[ID, T], it *IDType[ID]) (columns [columnCount][][]byte, err error) {
	var ints []uint64
	var text []byte
	for ord := range uint32(r.Len()) {
		id, err := r.IDs.At(ord)
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
	columns = [columnCount][][]byte{{AsBytes(r.Docs)}, {AsBytes(r.times)}, {AsBytes(r.starts)}, {AsBytes(r.ords)}, {AsBytes(ints)}, {text}}
	columns[FixedColumns] = [][]byte{AsBytes(r.Ends)}
	for i, c := range r.Find.Columns() {
		columns[ownColumns+i] = c
	}
	return columns, nil
}

// A blockWriter cuts what is written into blocks, as long as its buffer, and calls block for each.
// The last block may be shorter. A block is only valid during the call.
type blockWriter struct {
	buf   []byte
	block func(b []byte) error
}

// write adds bytes to the current block.
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

// flush ends the current block.
func (w *blockWriter) flush() error {
	if len(w.buf) == 0 {
		return nil
	}
	err := w.block(w.buf)
	w.buf = w.buf[:0]
	return err
}

// inBlocks calls block with all blocks of a snapshot: the columns as they are in the file, padded.
func inBlocks(columns [][][]byte, block func(b []byte) error) error {
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

// length returns the number of bytes of a column.
func length(parts [][]byte) int {
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	return n
}

// WriteSnapshot writes a run to a file, atomically: afterwards the new file is on the disk, or the
// file is as it was (see ReplaceFile for the one exception). before is the identity of the snapshot
// that this one follows. WriteSnapshot returns the identity of the new one.
func WriteSnapshot[ID comparable, T Finder](path, version string, before uint64, r *Run[ID, T], form *Form[T], it *IDType[ID]) (identity uint64, err error) {
	columns, err := RunColumns(r, it)
	if err != nil {
		return 0, err
	}
	return WriteColumns(path, form.Kind, version, before, r.Len(), r.Find, it.Kind, columns, form.columns())
}

// WriteColumns writes a snapshot that has the first has columns of columns. It goes over the
// columns twice, once for the checksums and once to write them, so that nothing but the records is
// kept in memory.
func WriteColumns(path, kind, version string, before uint64, docs int, find Finder, ids idKind, columns [columnCount][][]byte, has int) (identity uint64, err error) {
	return writeColumns(path, kind, version, columns[:], func(f *format.Writer, blocks int) {
		f.Text(string(ids))
		f.Uvarint(uint64(docs))
		f.Uvarint(uint64(blocks))
		f.Uint64(before)
		for _, c := range columns[:has] {
			f.Uvarint(uint64(length(c)))
		}
		f.EndRecord()
		find.Write(f)
	})
}

// writeColumns writes a file of columns. records writes what comes before the checksums of so many blocks.
func writeColumns(path, kind, version string, columns [][][]byte, records func(f *format.Writer, blocks int)) (identity uint64, err error) {
	var sums []uint64
	inBlocks(columns, func(b []byte) error {
		sums = append(sums, format.Checksum(b, uint64(len(sums))))
		return nil
	})
	var front bytes.Buffer
	f := format.NewWriter(&front, kind, version)
	records(f, len(sums))
	for i, s := range sums {
		if f.Uint64(s); i%sumsPerRecord == sumsPerRecord-1 || i == len(sums)-1 {
			f.EndRecord()
		}
	}
	if err := f.Close(); err != nil {
		return 0, err
	}
	front.Write(make([]byte, -front.Len()&(firstColumn-1)))
	return f.Sum, ReplaceFile(path, func(w *bufio.Writer) error {
		if _, err := w.Write(front.Bytes()); err != nil {
			return err
		}
		return inBlocks(columns, func(b []byte) error {
			_, err := w.Write(b)
			return err
		})
	})
}

// A snapshot is what openSnapshot finds in a file: a run, the identity of the snapshot, and the
// identity of the one before it.
type snapshot[ID comparable, T Finder] struct {
	run      *Run[ID, T]
	identity uint64
	before   uint64
}

// openSnapshot opens a file that WriteSnapshot wrote. If the file can be mapped, it reads only the
// records, and leaves the checks of the columns to their first use. If not, it reads and checks the
// whole file. In both cases it trusts nothing in the records beyond what the file really has: a
// damaged file gives an error, and neither a panic nor a large allocation.
func openSnapshot[ID comparable, T Finder](path, version string, form *Form[T], it *IDType[ID], serial uint32) (*snapshot[ID, T], error) {
	m, err := openMapping(path)
	if err != nil {
		return nil, err
	}
	from := bytes.NewReader(m.data)
	f, err := format.NewReader(from, form.Kind, version, form.Again)
	if err != nil {
		return nil, err
	}
	f.GoesOn = true // the columns follow the records
	rec, err := readRecords(f, form, it, len(m.data))
	if err != nil {
		return nil, err
	}
	m.sums, m.good = rec.sums, make([]atomic.Uint64, (len(rec.sums)+63)/64)
	placed, err := m.placeColumns(len(m.data)-from.Len()-f.R.Buffered(), rec.lengths[:])
	if err != nil {
		return nil, err
	}
	columns := [columnCount][]byte(placed)
	// Check the number of documents before memory is taken for them.
	docs := rec.docs
	if len(columns[1])/4 != docs || form.Words > 0 && len(columns[0])/8/form.Words != docs {
		return nil, ErrColumns
	}
	r := &Run[ID, T]{Find: rec.find, Column: Column{Words: form.Words}, live: docs, serial: serial, dead: make([]atomic.Uint64, (docs+63)/64)}
	if !m.real {
		if err := m.Verify(); err != nil {
			return nil, err
		}
	} else {
		r.File = m
	}
	if err := r.attach(columns, docs, it); err != nil {
		return nil, err
	}
	return &snapshot[ID, T]{run: r, identity: f.Sum, before: rec.before}, nil
}

// A snapshotRecords is what the records of a snapshot say.
type snapshotRecords[T Finder] struct {
	docs    int              // number of documents
	before  uint64           // identity of the snapshot before
	lengths [columnCount]int // bytes of each column
	find    T                // still without its columns
	sums    []uint64         // the checksum of each block
}

// readRecords reads all records of a snapshot, and checks that its ids can be read. size is the
// number of bytes of the file, and no number of bytes or blocks in the result is larger.
func readRecords[ID comparable, T Finder](f *format.Reader, form *Form[T], it *IDType[ID], size int) (rec snapshotRecords[T], err error) {
	f.Next()
	kind := idKind(f.Text())
	rec.docs = int(f.Uvarint(MaxDocuments))
	blocks := int(f.Uvarint(uint64(size)))
	rec.before = f.Uint64()
	for i := range form.columns() {
		rec.lengths[i] = int(f.Uvarint(uint64(size)))
	}
	if f.Err == nil && !it.reads(kind) {
		return rec, fmt.Errorf("neardup: %w: it holds %s ids, not %s", format.ErrVersion, format.Shown(string(kind)), it.Kind)
	}
	rec.find = form.Read(f)
	rec.sums = readSums(f, blocks)
	return rec, f.Err
}

// readSums reads the checksums of so many blocks, which are the last records.
func readSums(f *format.Reader, blocks int) (sums []uint64) {
	for len(sums) < blocks && f.Err == nil {
		if !f.Next() {
			f.Fail("checksums are missing")
			break
		}
		for range min(sumsPerRecord, blocks-len(sums)) {
			sums = append(sums, f.Uint64())
		}
	}
	if f.Err == nil && f.Next() {
		f.Fail("unexpected records after the checksums")
	}
	return sums
}

// placeColumns returns the columns of the snapshot, as parts of the mapping, and sets m.first to
// where they begin. records is the number of bytes that the records take. It checks that only zeros
// lie between the records and the columns, and that the columns end where the file and the last of
// the blocks in m.sums end.
func (m *Mapping) placeColumns(records int, lengths []int) (columns [][]byte, err error) {
	m.first = (records + firstColumn - 1) &^ (firstColumn - 1)
	// No checksum covers the bytes between the records and the first column, but they must be
	// zeros.
	for i := m.first - 1; i >= records && i < len(m.data); i-- {
		if m.data[i] != 0 {
			return columns, format.Damaged("byte %d is not 0", i)
		}
	}
	at := m.first
	for _, n := range lengths {
		if n > len(m.data)-at {
			return columns, format.Damaged("it ends early: %d bytes, but a column from byte %d to %d", len(m.data), at, at+n)
		}
		columns = append(columns, m.data[at:at+n:at+n])
		at = min(len(m.data), at+n+-n&(columnAlign-1))
	}
	if blocks := len(m.sums); at != len(m.data) || (at-m.first+fileBlock-1)/fileBlock != blocks {
		return columns, format.Damaged("%d bytes where there should be %d, in %d blocks", len(m.data), at, blocks)
	}
	return columns, nil
}

// attach gives a run the columns of its snapshot, without copying them, and completes its finder.
// It returns an error if a column does not have the length that so many documents need.
func (r *Run[ID, T]) attach(columns [columnCount][]byte, docs int, it *IDType[ID]) error {
	r.Docs, r.Ends = Numbers[uint64](columns[0]), Numbers[uint64](columns[FixedColumns])
	r.times = Numbers[uint32](columns[1])
	r.starts, r.ords = Numbers[uint32](columns[2]), Numbers[uint32](columns[3])
	ids := fileColumn[ID]{file: r.File, it: it, ints: Numbers[uint64](columns[4]), text: columns[5]}
	r.IDs = &ids
	if r.Words > 0 && len(r.Docs) != docs*r.Words || r.Words == 0 && len(r.Ends) != docs || len(r.times) != docs || len(r.starts) != 1<<idBits(docs)+1 || len(r.ords) != docs || len(ids.ints) != docs {
		return ErrColumns
	}
	return r.Find.Attach(r.Column, r.File, FinderColumns[[]byte](columns[ownColumns:FixedColumns]))
}

// ErrColumns is the error of columns whose lengths do not fit together.
var ErrColumns = format.Damaged("columns of the wrong length")
