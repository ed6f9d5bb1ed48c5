package seen

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/neardup/neardup"
)

// This file writes a filter and reads it. The form is: magic; the length of the version and the version; seven numbers of 64 bits, little-endian: bands, rows, probes, blocks, the
// capacity, and the documents of the generations; their words; and CRC-32C of all that.

const magic = "neardup seen 1\n"

// errFile is the error of bytes that WriteTo has not written.
var errFile = errors.New("seen: not a filter, or it is damaged")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// A sum writes, counts and sums up what is written.
type sum struct {
	to  io.Writer
	n   int64
	crc uint32
}

func (s *sum) Write(b []byte) (int, error) {
	n, err := s.to.Write(b)
	s.n, s.crc = s.n+int64(n), crc32.Update(s.crc, castagnoli, b[:n])
	return n, err
}

// WriteTo writes the filter for [Read]. Others may use it meanwhile: it is copied first. It is an error if the features come from code of the caller's own that
// [neardup.Fingerprinter.Custom] does not name.
func (f *Filter) WriteTo(w io.Writer) (int64, error) {
	version, err := f.version()
	if err != nil {
		return 0, err
	}
	c := f.clone()
	buffered := bufio.NewWriterSize(w, 1<<16)
	s := &sum{to: buffered}
	head := binary.LittleEndian.AppendUint64([]byte(magic), uint64(len(version)))
	head = append(head, version...)
	for _, x := range []int64{int64(c.shape.bands), int64(c.shape.rows), int64(c.shape.probes), c.shape.blocks, c.shape.capacity, c.documents[0], c.documents[1]} {
		head = binary.LittleEndian.AppendUint64(head, uint64(x))
	}
	if _, err := s.Write(head); err != nil {
		return s.n, err
	}
	for _, b := range []*bloom{c.young, c.old} {
		if err := binary.Write(s, binary.LittleEndian, b.words); err != nil {
			return s.n, err
		}
	}
	n := s.n
	if err := binary.Write(buffered, binary.LittleEndian, s.crc); err != nil {
		return n, err
	}
	return n + 4, buffered.Flush()
}

// Read reads what [Filter.WriteTo] wrote, for the features of a Fingerprinter. Memory grows with what is there, whatever the bytes say. It returns an error if the features
// differ, or if the bytes are not a filter or are damaged.
func Read(r io.Reader, of neardup.Fingerprinter) (*Filter, error) {
	if err := of.Check(); err != nil {
		return nil, err
	}
	crc := crc32.New(castagnoli)
	buffered := bufio.NewReaderSize(r, 1<<16)
	in := io.TeeReader(buffered, crc)
	version, s, documents, err := readHead(in)
	if err != nil {
		return nil, errOr(err)
	}
	f := &Filter{of: of, minhash: s.minhash(), shape: s, documents: documents}
	switch want, err := f.version(); {
	case err != nil:
		return nil, err
	case version != want:
		return nil, fmt.Errorf("seen: the filter was made with other features: %s, not %s", version, want)
	}
	for _, to := range []**bloom{&f.young, &f.old} {
		words, err := readWords(in, s.blocks*blockWords)
		if err != nil {
			return nil, errOr(err)
		}
		*to = &bloom{words, s.probes}
	}
	sum := crc.Sum32()
	var written uint32
	if err := binary.Read(buffered, binary.LittleEndian, &written); err != nil || written != sum {
		return nil, errOr(err)
	}
	return f, nil
}

// mostVersion is how long the description of features may be.
const mostVersion = 1 << 16

// readHead reads what stands before the words.
func readHead(r io.Reader) (version string, s shape, documents [2]int64, err error) {
	start := make([]byte, len(magic)+8)
	if _, err := io.ReadFull(r, start); err != nil || string(start[:len(magic)]) != magic {
		return "", s, documents, errOr(err)
	}
	length := binary.LittleEndian.Uint64(start[len(magic):])
	if length > mostVersion {
		return "", s, documents, errFile
	}
	bytes := make([]byte, length)
	if _, err := io.ReadFull(r, bytes); err != nil {
		return "", s, documents, err
	}
	var numbers [7]int64
	if err := binary.Read(r, binary.LittleEndian, &numbers); err != nil {
		return "", s, documents, err
	}
	s = shape{bands: int(numbers[0]), rows: int(numbers[1]), probes: int(numbers[2]), blocks: numbers[3], capacity: numbers[4]}
	documents = [2]int64{numbers[5], numbers[6]}
	if !s.isPossible() || min(documents[0], documents[1]) < 0 {
		err = errFile
	}
	return string(bytes), s, documents, err
}

// readWords reads so many words. It trusts no number: memory grows with what is there.
func readWords(r io.Reader, n int64) (words []uint64, err error) {
	var some [1 << 13]uint64
	for n > 0 {
		k := min(n, int64(len(some)))
		if err := binary.Read(r, binary.LittleEndian, some[:k]); err != nil {
			return nil, err
		}
		words = append(words, some[:k]...)
		n -= k
	}
	return words, nil
}

// errOr returns what is wrong: that the bytes end, or no error, means that they are not those of a filter.
func errOr(err error) error {
	if err == nil || err == io.EOF || err == io.ErrUnexpectedEOF {
		return errFile
	}
	return err
}
