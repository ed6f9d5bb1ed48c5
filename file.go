package neardup

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
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
	maxID      = 1 << 16
	maxVersion = 1 << 12
)

// ErrDamaged is the error of a file that is not as it was written, or not of this
// package at all.
var ErrDamaged = errors.New("damaged file")

// WriteFingerprints writes fingerprints under the ids of the caller, of at most
// 64 KiB each, and the version ([Fingerprinter.Version]) of what made them, in a
// checksummed binary form of about 9 or 17 bytes and the id for each. Ids may be any
// bytes and are not checked for being different. After an error the file is
// incomplete, which is noticed when it is read.
//
//	version, err := f.Version()
//	err = neardup.WriteFingerprints(file, version, index.All()) // of an index with string ids
func WriteFingerprints[F Fingerprint](w io.Writer, version string, fingerprints iter.Seq2[string, F]) error {
	if !isVersion(version) {
		return fmt.Errorf("neardup: %s is not a version", shown(version))
	}
	f := newFileWriter(w, fingerprintKind[F](), version)
	for id, fp := range fingerprints {
		if len(id) > maxID {
			return fmt.Errorf("neardup: id %q has %d bytes, more than %d", clip(id), len(id), maxID)
		}
		f.text(id)
		lo, hi := split(fp)
		if width[F]() == 128 {
			f.uint64(hi)
		}
		f.uint64(lo)
		if f.endRecord(); f.err != nil {
			break
		}
	}
	return f.close()
}

// ReadFingerprints reads what [WriteFingerprints] wrote and calls add for each
// fingerprint, for example the Add of an index. The version must be the one that
// the file has, or the error is an [ErrVersion] that says in what they differ. A
// file that is damaged, ends early, goes on behind its end or is none gives an
// [ErrDamaged]; the fingerprints before the damage have been added then, and were
// good. An id that occurs twice is added twice. It reads to the end of r and takes no
// more memory than a block of the file, whatever the file claims.
func ReadFingerprints[F Fingerprint](r io.Reader, version string, add func(id string, fp F)) error {
	f, err := newFileReader(r, fingerprintKind[F](), version, fingerprintAgain)
	if err != nil {
		return err
	}
	for f.next() {
		id := f.text()
		var hi uint64
		if width[F]() == 128 {
			hi = f.uint64()
		}
		lo := f.uint64()
		if f.err != nil {
			break
		}
		add(id, fromWords[F](lo, hi))
	}
	return f.err
}

func fingerprintKind[F Fingerprint]() string { return fmt.Sprintf("fingerprints%d", width[F]()) }

// A fileWriter writes a file. The first error stays.
type fileWriter struct {
	w       *bufio.Writer
	to      *counter
	block   []byte
	sum     uint64 // the last checksum
	records uint64
	err     error
}

// A counter counts what is written to w.
type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

func newFileWriter(w io.Writer, kind, version string) *fileWriter {
	to := &counter{w: w}
	f := &fileWriter{w: bufio.NewWriter(to), to: to}
	f.block = append(f.block, magic...)
	f.block = append(f.block, fileFormat)
	f.text(kind)
	f.text(version)
	f.check()
	return f
}

func (f *fileWriter) text(s string) {
	f.block = append(binary.AppendUvarint(f.block, uint64(len(s))), s...)
}
func (f *fileWriter) uvarint(x uint64) { f.block = binary.AppendUvarint(f.block, x) }
func (f *fileWriter) uint64(x uint64)  { f.block = binary.BigEndian.AppendUint64(f.block, x) }

// endRecord ends a record, and the block if it is long enough.
func (f *fileWriter) endRecord() {
	f.records++
	if len(f.block) >= maxBlock/16 {
		f.flush()
	}
}

func (f *fileWriter) flush() {
	if len(f.block) == 0 {
		return
	}
	f.write(binary.AppendUvarint(nil, uint64(len(f.block))))
	f.check()
}

// check writes the block and its checksum.
func (f *fileWriter) check() {
	f.sum = checksum(f.block, f.sum)
	f.write(f.block)
	f.write(binary.BigEndian.AppendUint64(nil, f.sum))
	f.block = f.block[:0]
}

func (f *fileWriter) write(b []byte) {
	if f.err == nil {
		_, f.err = f.w.Write(b)
	}
}

func (f *fileWriter) close() error {
	f.flush()
	f.block = binary.AppendUvarint(append(f.block, 0), f.records)
	f.check()
	if f.err == nil {
		f.err = f.w.Flush()
	}
	if f.err != nil {
		return fmt.Errorf("neardup: writing %d records: %w", f.records, f.err)
	}
	return nil
}

// A fileReader reads a file. The first error stays, and everything after it is
// zero.
type fileReader struct {
	r       *bufio.Reader
	goesOn  bool   // something else follows behind the end
	block   []byte // what is left of it
	buf     []byte
	sum     uint64
	blocks  int
	records uint64
	err     error
}

func newFileReader(r io.Reader, kind, version, again string) (*fileReader, error) {
	f := &fileReader{r: bufio.NewReader(r)}
	head := make([]byte, len(magic)+1)
	if _, err := io.ReadFull(f.r, head); err != nil || string(head[:len(magic)]) != magic {
		if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
			return nil, fmt.Errorf("neardup: %w", err)
		}
		return nil, fmt.Errorf("neardup: %w: not a file of this package", ErrDamaged)
	}
	if head[len(magic)] != fileFormat {
		return nil, fmt.Errorf("neardup: the file was %w: it has format %d; this version of the package reads format %d", ErrVersion, head[len(magic)], fileFormat)
	}
	gotKind := f.headText(&head, 64)
	gotVersion := f.headText(&head, maxVersion)
	if f.verify(head); f.err == nil && !isVersion(gotVersion) {
		f.fail("its version is no text")
	}
	switch {
	case f.err != nil:
		return nil, f.err
	case gotKind != kind:
		return nil, fmt.Errorf("neardup: the file was %w: it holds %s, not %s", ErrVersion, shown(gotKind), kind)
	}
	if err := compareVersions(gotVersion, version, again); err != nil {
		return nil, err
	}
	return f, nil
}

// headText reads a text of the head, and adds it to what is checked.
func (f *fileReader) headText(head *[]byte, longest uint64) string {
	n := f.length(longest, head)
	text := make([]byte, n)
	f.full(text)
	*head = append(*head, text...)
	return string(text)
}

// length reads a number outside of blocks.
func (f *fileReader) length(most uint64, raw *[]byte) uint64 {
	if f.err != nil {
		return 0
	}
	for shift, x := 0, uint64(0); ; shift += 7 {
		b, err := f.r.ReadByte()
		if err != nil {
			f.readError(err)
			return 0
		}
		*raw = append(*raw, b)
		x |= uint64(b&0x7F) << shift
		if shift == 63 && b > 1 || b < 0x80 && x > most {
			f.fail("a length of more than %d", most)
			return 0
		}
		if b < 0x80 {
			return x
		}
	}
}

func (f *fileReader) full(b []byte) {
	if f.err == nil {
		if _, err := io.ReadFull(f.r, b); err != nil {
			f.readError(err)
		}
	}
}

func (f *fileReader) readError(err error) {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		if f.err == nil {
			f.err = fmt.Errorf("neardup: %w: block %d, after %d records: it ends early: %w", ErrDamaged, f.blocks, f.records, io.ErrUnexpectedEOF)
		}
		return
	}
	f.err = fmt.Errorf("neardup: reading block %d: %w", f.blocks, err)
}

func (f *fileReader) fail(format string, args ...any) {
	if f.err == nil {
		f.err = fmt.Errorf("neardup: %w: block %d, after %d records: %s", ErrDamaged, f.blocks, f.records, fmt.Sprintf(format, args...))
	}
}

// verify reads the checksum of what was read.
func (f *fileReader) verify(read []byte) {
	var sum [8]byte
	f.full(sum[:])
	f.sum = checksum(read, f.sum)
	if f.err == nil && binary.BigEndian.Uint64(sum[:]) != f.sum {
		f.fail("the checksum does not fit")
	}
}

// next reports whether there is another record.
func (f *fileReader) next() bool {
	if f.err != nil {
		return false
	}
	if len(f.block) == 0 {
		f.blocks++
		var raw []byte
		n := f.length(maxBlock, &raw)
		if n == 0 && f.err == nil {
			records := f.length(1<<62, &raw)
			if f.verify(raw); f.err == nil && records != f.records {
				f.fail("it should have %d records", records)
			}
			if f.goesOn {
				return false
			}
			if _, err := f.r.ReadByte(); f.err == nil && err == nil {
				f.fail("it goes on behind its end")
			} else if f.err == nil && err != io.EOF {
				f.readError(err)
			}
		}
		if n == 0 || f.err != nil {
			return false
		}
		// At least as much must be there as memory is taken for.
		f.buf = f.buf[:0]
		for uint64(len(f.buf)) < n && f.err == nil {
			from := len(f.buf)
			f.buf = append(f.buf, make([]byte, min(n-uint64(from), 1<<16))...)
			f.full(f.buf[from:])
		}
		if f.verify(f.buf); f.err != nil {
			return false
		}
		f.block = f.buf
	}
	f.records++
	return true
}

// text reads a text of a record.
func (f *fileReader) text() string {
	n := f.uvarint(maxBlock)
	if n > uint64(len(f.block)) {
		f.cut()
		return ""
	}
	s := string(f.block[:n])
	f.block = f.block[n:]
	return s
}

// uvarint reads a number of a record, up to most.
func (f *fileReader) uvarint(most uint64) uint64 {
	x, size := binary.Uvarint(f.block)
	if size <= 0 {
		f.cut()
		return 0
	}
	f.block = f.block[size:]
	if x > most {
		f.fail("%d where there can be %d", x, most)
		return 0
	}
	return x
}

// uint64 reads a number of a record.
func (f *fileReader) uint64() uint64 {
	if len(f.block) < 8 {
		f.cut()
		return 0
	}
	x := binary.BigEndian.Uint64(f.block)
	f.block = f.block[8:]
	return x
}

func (f *fileReader) cut() {
	f.fail("a record is cut off")
	f.block = nil
}
