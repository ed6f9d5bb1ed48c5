// Package format has the common form of all files of the library: a head that says what the file
// holds and with which settings it was made, then records in blocks with chained checksums
// ([Writer], [Reader]). It also has the versions that heads hold (version.go) and digests for them
// (checksum.go).
package format

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// All files of the library have one form. Integers are unsigned varints, or big-endian if they have
// a fixed size.
//
//	magic     "neardup" and a zero byte
//	format    1
//	kind      length and text: what the records are
//	version   length and text: the settings they were made with
//	checksum  8 bytes
//	blocks    length, records, checksum, as often as needed; no record is divided
//	end       0, number of records, checksum
//
// Each checksum is the xxh3 of everything since the checksum before, except the length of a block,
// seeded with the checksum before. So a block that is missing, repeated or out of place does not
// pass. A reader verifies a block before it returns any of its records, and never takes more memory
// than the data that is really there.

const (
	magic      = "neardup\x00"
	fileFormat = 1
	maxBlock   = 1 << 20 // the longest block that is read; writers end a block at a 16th of it
	MaxID      = 1 << 16 // bytes in an id
	MaxVersion = 1 << 12 // bytes in a version
)

// ErrDamaged is the error for a file that is not as it was written, or is not a file of the library
// at all.
var ErrDamaged = errors.New("file is damaged")

// A Writer writes a file: the fields of a record, EndRecord, and so on, and in the end Close. The
// first error stays in Err; later calls then have no effect. It is not safe for concurrent use.
type Writer struct {
	W       *bufio.Writer // of To
	To      *Counter      // counts the bytes written
	Block   []byte        // records that are not written yet
	Sum     uint64        // the last checksum
	Records uint64        // number of records
	Err     error
}

// A Counter counts the bytes that are written to W.
type Counter struct {
	W io.Writer
	N int64
}

func (c *Counter) Write(p []byte) (int, error) {
	n, err := c.W.Write(p)
	c.N += int64(n)
	return n, err
}

// NewWriter returns a Writer and writes the head. kind and version must fit into the limits of
// NewReader. An error of w shows up in Err and Close.
func NewWriter(w io.Writer, kind, version string) *Writer {
	to := &Counter{W: w}
	f := &Writer{W: bufio.NewWriter(to), To: to}
	f.Block = append(f.Block, magic...)
	f.Block = append(f.Block, fileFormat)
	f.Text(kind)
	f.Text(version)
	f.check()
	return f
}

// Text adds a text, with its length, to the record.
func (f *Writer) Text(s string) {
	f.Block = append(binary.AppendUvarint(f.Block, uint64(len(s))), s...)
}

// Uvarint adds a number as a varint.
func (f *Writer) Uvarint(x uint64) { f.Block = binary.AppendUvarint(f.Block, x) }

// Uint64 adds a number in 8 bytes.
func (f *Writer) Uint64(x uint64) { f.Block = binary.BigEndian.AppendUint64(f.Block, x) }

// EndRecord ends a record, and the block if it is long enough.
func (f *Writer) EndRecord() {
	f.Records++
	if len(f.Block) >= maxBlock/16 {
		f.Flush()
	}
}

// Flush ends the block.
func (f *Writer) Flush() {
	if len(f.Block) == 0 {
		return
	}
	f.write(binary.AppendUvarint(nil, uint64(len(f.Block))))
	f.check()
}

// check writes the data in Block, followed by its checksum.
func (f *Writer) check() {
	f.Sum = Checksum(f.Block, f.Sum)
	f.write(f.Block)
	f.write(binary.BigEndian.AppendUint64(nil, f.Sum))
	f.Block = f.Block[:0]
}

// write writes b, unless there has been an error.
func (f *Writer) write(b []byte) {
	if f.Err == nil {
		_, f.Err = f.W.Write(b)
	}
}

// Close writes the last block and the end, and returns the first error. It does not close the
// underlying writer.
func (f *Writer) Close() error {
	f.Flush()
	// The end: a length of 0, and the number of records, so that a file cut after a block is
	// noticed.
	f.Block = binary.AppendUvarint(append(f.Block, 0), f.Records)
	f.check()
	if f.Err == nil {
		f.Err = f.W.Flush()
	}
	if f.Err != nil {
		return fmt.Errorf("neardup: writing %d records: %w", f.Records, f.Err)
	}
	return nil
}

// A Reader reads a file: Next, the fields of a record in the order in which they were written, and
// so on. The first error stays in Err, and whatever is read after it means nothing. It is not safe
// for concurrent use.
type Reader struct {
	R       *bufio.Reader // what follows the end, if GoesOn
	GoesOn  bool          // other data may follow the end
	block   []byte        // the rest of the current block
	buf     []byte        // memory of the blocks
	Sum     uint64        // the last checksum
	blocks  int           // number of the current block, from 1; 0 is the head
	records uint64        // number of records begun
	Err     error
}

// NewReader reads and verifies the head of a file. It returns an ErrDamaged if that is damaged or
// not of the library, and an ErrVersion if the file has another format, kind or version. again is
// the advice for that case, such as "sign the stored texts again".
func NewReader(r io.Reader, kind, version, again string) (*Reader, error) {
	f := &Reader{R: bufio.NewReader(r)}
	// The bytes of the head are collected in head, for its checksum. The version is only looked at
	// when the checksum is known to be right.
	head := make([]byte, len(magic)+1)
	if _, err := io.ReadFull(f.R, head); err != nil || string(head[:len(magic)]) != magic {
		if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
			return nil, fmt.Errorf("neardup: %w", err)
		}
		return nil, fmt.Errorf("neardup: %w: not a file of this package", ErrDamaged)
	}
	if head[len(magic)] != fileFormat {
		return nil, fmt.Errorf("neardup: %w: format %d; this version of the package reads format %d", ErrVersion, head[len(magic)], fileFormat)
	}
	gotKind := f.headText(&head, 64)
	gotVersion := f.headText(&head, MaxVersion)
	if f.verify(head); f.Err == nil && !IsVersion(gotVersion) {
		f.Fail("its version is invalid")
	}
	switch {
	case f.Err != nil:
		return nil, f.Err
	case gotKind != kind:
		return nil, fmt.Errorf("neardup: %w: it holds %s, not %s", ErrVersion, Shown(gotKind), kind)
	}
	if err := CompareVersions(gotVersion, version, again); err != nil {
		return nil, err
	}
	return f, nil
}

// HasHead reports whether a file begins like those of this package, of whatever kind and version.
func HasHead(r io.Reader) bool {
	head := make([]byte, len(magic))
	_, err := io.ReadFull(r, head)
	return err == nil && string(head) == magic
}

// headText reads a text of the head, of at most longest bytes, and appends it to head for the
// checksum.
func (f *Reader) headText(head *[]byte, longest uint64) string {
	n := f.length(longest, head)
	text := make([]byte, n)
	f.full(text)
	*head = append(*head, text...)
	return string(text)
}

// length reads a varint outside of blocks, of at most most, and appends its bytes to raw.
func (f *Reader) length(most uint64, raw *[]byte) uint64 {
	if f.Err != nil {
		return 0
	}
	for shift, x := 0, uint64(0); ; shift += 7 {
		b, err := f.R.ReadByte()
		if err != nil {
			f.readError(err)
			return 0
		}
		*raw = append(*raw, b)
		x |= uint64(b&0x7F) << shift
		// A tenth byte above 1 would overflow 64 bits.
		if shift == 63 && b > 1 || b < 0x80 && x > most {
			f.Fail("a length of more than %d", most)
			return 0
		}
		if b < 0x80 {
			return x
		}
	}
}

// full fills b from the file.
func (f *Reader) full(b []byte) {
	if f.Err == nil {
		if _, err := io.ReadFull(f.R, b); err != nil {
			f.readError(err)
		}
	}
}

// readError records an error of the underlying reader. A file that ends early is damaged; any other
// error is not the fault of the file.
func (f *Reader) readError(err error) {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		if f.Err == nil {
			f.Err = fmt.Errorf("neardup: %w: block %d, after %d records: it ends early: %w", ErrDamaged, f.blocks, f.records, io.ErrUnexpectedEOF)
		}
		return
	}
	f.Err = fmt.Errorf("neardup: reading block %d: %w", f.blocks, err)
}

// Fail records that the file is damaged, with the position and a reason. Callers use it for records
// that make no sense, although their checksum is right.
func (f *Reader) Fail(format string, args ...any) {
	if f.Err == nil {
		f.Err = fmt.Errorf("neardup: %w: block %d, after %d records: %s", ErrDamaged, f.blocks, f.records, fmt.Sprintf(format, args...))
	}
}

// verify reads the next checksum, and compares it with that of read.
func (f *Reader) verify(read []byte) {
	var sum [8]byte
	f.full(sum[:])
	f.Sum = Checksum(read, f.Sum)
	if f.Err == nil && binary.BigEndian.Uint64(sum[:]) != f.Sum {
		f.Fail("the checksum does not match")
	}
}

// Next moves on to the next record, and reports whether there is one. It is false after the last
// record and after an error. At the end it also checks the number of records, and, unless GoesOn,
// that the file ends there.
func (f *Reader) Next() bool {
	if f.Err != nil {
		return false
	}
	if len(f.block) == 0 && !f.nextBlock() {
		return false
	}
	f.records++
	return true
}

// nextBlock reads and verifies the next block. It is false at the end of the file, which it checks
// as well, and after an error.
func (f *Reader) nextBlock() bool {
	f.blocks++
	var raw []byte
	n := f.length(maxBlock, &raw)
	if f.Err != nil {
		return false
	}
	if n == 0 { // no block is empty: this is the end of the file
		f.end(raw)
		return false
	}
	// Read in parts, so that a wrong length cannot claim much more memory than there is data.
	f.buf = f.buf[:0]
	for uint64(len(f.buf)) < n && f.Err == nil {
		from := len(f.buf)
		f.buf = append(f.buf, make([]byte, min(n-uint64(from), 1<<16))...)
		f.full(f.buf[from:])
	}
	if f.verify(f.buf); f.Err != nil {
		return false
	}
	f.block = f.buf
	return true
}

// end checks the end of the file: the number of records, and, unless GoesOn, that nothing follows.
// raw has the length of 0 that the end begins with, for its checksum.
func (f *Reader) end(raw []byte) {
	records := f.length(1<<62, &raw)
	if f.verify(raw); f.Err == nil && records != f.records {
		f.Fail("it should have %d records", records)
	}
	if f.GoesOn {
		return
	}
	if _, err := f.R.ReadByte(); f.Err == nil && err == nil {
		f.Fail("there is data after its end")
	} else if f.Err == nil && err != io.EOF {
		f.readError(err)
	}
}

// Text reads a text of the record.
func (f *Reader) Text() string {
	n := f.Uvarint(maxBlock)
	if n > uint64(len(f.block)) {
		f.cut()
		return ""
	}
	s := string(f.block[:n])
	f.block = f.block[n:]
	return s
}

// Uvarint reads a varint of the record. One above most is an error.
func (f *Reader) Uvarint(most uint64) uint64 {
	x, size := binary.Uvarint(f.block)
	if size <= 0 {
		f.cut()
		return 0
	}
	f.block = f.block[size:]
	if x > most {
		f.Fail("%d where at most %d is possible", x, most)
		return 0
	}
	return x
}

// Uint64 reads a number of 8 bytes.
func (f *Reader) Uint64() uint64 {
	if len(f.block) < 8 {
		f.cut()
		return 0
	}
	x := binary.BigEndian.Uint64(f.block)
	f.block = f.block[8:]
	return x
}

// cut records that a record is shorter than its fields.
func (f *Reader) cut() {
	f.Fail("a record is cut off")
	f.block = nil
}

// Damaged returns an error that wraps ErrDamaged.
func Damaged(format string, args ...any) error {
	return fmt.Errorf("neardup: %w: %s", ErrDamaged, fmt.Sprintf(format, args...))
}
