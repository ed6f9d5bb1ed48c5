package format

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// The files of this package have one form. Integers are unsigned varints, or
// big-endian if they have a fixed size.
//
//	magic     "neardup" and a zero byte
//	format    1
//	kind      length and text: what the records are
//	version   length and text: how they were made
//	checksum  8 bytes
//	blocks    length, records, checksum, as often as needed; no record is divided
//	end       0, number of records, checksum
//
// Each checksum is the xxh3 of what follows the checksum before, seeded with that:
// a block that is missing, twice or out of place does not pass.
const (
	magic      = "neardup\x00"
	fileFormat = 1
	maxBlock   = 1 << 20
	MaxID      = 1 << 16
	MaxVersion = 1 << 12
)

// ErrDamaged is the error of a file that is not as it was written, or not of this
// package at all.
var ErrDamaged = errors.New("file is damaged")

// A Writer writes a file. The first error stays.
type Writer struct {
	W       *bufio.Writer
	To      *counter
	Block   []byte
	Sum     uint64 // the last checksum
	Records uint64
	Err     error
}

// A counter counts what is written to w.
type counter struct {
	w io.Writer
	N int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.N += int64(n)
	return n, err
}

func NewWriter(w io.Writer, kind, version string) *Writer {
	to := &counter{w: w}
	f := &Writer{W: bufio.NewWriter(to), To: to}
	f.Block = append(f.Block, magic...)
	f.Block = append(f.Block, fileFormat)
	f.Text(kind)
	f.Text(version)
	f.check()
	return f
}

func (f *Writer) Text(s string) {
	f.Block = append(binary.AppendUvarint(f.Block, uint64(len(s))), s...)
}

func (f *Writer) Uvarint(x uint64) { f.Block = binary.AppendUvarint(f.Block, x) }

func (f *Writer) Uint64(x uint64) { f.Block = binary.BigEndian.AppendUint64(f.Block, x) }

// EndRecord ends a record, and the block if it is long enough.
func (f *Writer) EndRecord() {
	f.Records++
	if len(f.Block) >= maxBlock/16 {
		f.Flush()
	}
}

func (f *Writer) Flush() {
	if len(f.Block) == 0 {
		return
	}
	f.write(binary.AppendUvarint(nil, uint64(len(f.Block))))
	f.check()
}

// check writes the block and its checksum.
func (f *Writer) check() {
	f.Sum = Checksum(f.Block, f.Sum)
	f.write(f.Block)
	f.write(binary.BigEndian.AppendUint64(nil, f.Sum))
	f.Block = f.Block[:0]
}

func (f *Writer) write(b []byte) {
	if f.Err == nil {
		_, f.Err = f.W.Write(b)
	}
}

func (f *Writer) Close() error {
	f.Flush()
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

// A Reader reads a file. The first error stays, and everything after it is
// zero.
type Reader struct {
	R       *bufio.Reader
	GoesOn  bool   // something else follows behind the end
	block   []byte // what is left of it
	buf     []byte
	Sum     uint64
	blocks  int
	records uint64
	Err     error
}

func NewReader(r io.Reader, kind, version, again string) (*Reader, error) {
	f := &Reader{R: bufio.NewReader(r)}
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
		f.Fail("its version is no text")
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

// headText reads a text of the head, and adds it to what is checked.
func (f *Reader) headText(head *[]byte, longest uint64) string {
	n := f.length(longest, head)
	text := make([]byte, n)
	f.full(text)
	*head = append(*head, text...)
	return string(text)
}

// length reads a number outside of blocks.
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
		if shift == 63 && b > 1 || b < 0x80 && x > most {
			f.Fail("a length of more than %d", most)
			return 0
		}
		if b < 0x80 {
			return x
		}
	}
}

func (f *Reader) full(b []byte) {
	if f.Err == nil {
		if _, err := io.ReadFull(f.R, b); err != nil {
			f.readError(err)
		}
	}
}

func (f *Reader) readError(err error) {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		if f.Err == nil {
			f.Err = fmt.Errorf("neardup: %w: block %d, after %d records: it ends early: %w", ErrDamaged, f.blocks, f.records, io.ErrUnexpectedEOF)
		}
		return
	}
	f.Err = fmt.Errorf("neardup: reading block %d: %w", f.blocks, err)
}

func (f *Reader) Fail(format string, args ...any) {
	if f.Err == nil {
		f.Err = fmt.Errorf("neardup: %w: block %d, after %d records: %s", ErrDamaged, f.blocks, f.records, fmt.Sprintf(format, args...))
	}
}

// verify reads the checksum of what was read.
func (f *Reader) verify(read []byte) {
	var sum [8]byte
	f.full(sum[:])
	f.Sum = Checksum(read, f.Sum)
	if f.Err == nil && binary.BigEndian.Uint64(sum[:]) != f.Sum {
		f.Fail("the checksum does not fit")
	}
}

// Next reports whether there is another record.
func (f *Reader) Next() bool {
	if f.Err != nil {
		return false
	}
	if len(f.block) == 0 {
		f.blocks++
		var raw []byte
		n := f.length(maxBlock, &raw)
		if n == 0 && f.Err == nil {
			records := f.length(1<<62, &raw)
			if f.verify(raw); f.Err == nil && records != f.records {
				f.Fail("it should have %d records", records)
			}
			if f.GoesOn {
				return false
			}
			if _, err := f.R.ReadByte(); f.Err == nil && err == nil {
				f.Fail("it goes on behind its end")
			} else if f.Err == nil && err != io.EOF {
				f.readError(err)
			}
		}
		if n == 0 || f.Err != nil {
			return false
		}
		// At least as much must be there as memory is taken for.
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
	}
	f.records++
	return true
}

// Text reads a text of a record.
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

// Uvarint reads a number of a record, up to most.
func (f *Reader) Uvarint(most uint64) uint64 {
	x, size := binary.Uvarint(f.block)
	if size <= 0 {
		f.cut()
		return 0
	}
	f.block = f.block[size:]
	if x > most {
		f.Fail("%d where there can be %d", x, most)
		return 0
	}
	return x
}

// Uint64 reads a number of a record.
func (f *Reader) Uint64() uint64 {
	if len(f.block) < 8 {
		f.cut()
		return 0
	}
	x := binary.BigEndian.Uint64(f.block)
	f.block = f.block[8:]
	return x
}

func (f *Reader) cut() {
	f.Fail("a record is cut off")
	f.block = nil
}

// Damaged returns an ErrDamaged.
func Damaged(format string, args ...any) error {
	return fmt.Errorf("neardup: %w: %s", ErrDamaged, fmt.Sprintf(format, args...))
}
