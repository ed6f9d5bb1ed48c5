package cli

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

// This file reads compressed files, and gives errors of reading the form file:line: message.

// InFile returns an error of the file system in the form of all errors, with the name of the file
// in front, and the first line unless the file cannot be opened.
func InFile(path string, err error) error {
	var wrapped *fs.PathError
	if errors.As(err, &wrapped) { // it cannot be opened, so there is no line
		return fmt.Errorf("%s: %w", path, wrapped.Err)
	}
	return fmt.Errorf("%s:1: %w", path, err)
}

// Decompress returns a reader of the decompressed content of r, for gzip, zstd, xz and bzip2. It recognises
// them by the first bytes or by the name. Of zstd and xz, a decoder holds as much of the content as the file asks for;
// beyond room bytes that is an error. The caller must call finish at the end.
func Decompress(r io.Reader, path string, room int64) (plain io.Reader, finish func(), err error) {
	b := bufio.NewReaderSize(r, 1<<18)
	magic, err := b.Peek(4)
	if err != nil && err != io.EOF {
		return nil, nil, InFile(path, err)
	}
	end := filepath.Ext(path)
	is := func(prefix, name string) bool { return bytes.HasPrefix(magic, []byte(prefix)) || end == name }
	finish = func() {}
	switch {
	case len(magic) == 0:
		if slices.Contains([]string{".gz", ".zst", ".xz", ".bz2"}, end) {
			return nil, nil, fmt.Errorf("%s:1: the file is empty, so it is not a valid compressed file", path)
		}
		return b, finish, nil
	case is("\x1F\x8B", ".gz"):
		plain, err = gzip.NewReader(b)
	case is("\x28\xB5\x2F\xFD", ".zst"):
		var z *zstd.Decoder
		if z, err = zstd.NewReader(b, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(uint64(min(max(room, leastRoom), 1<<31)))); err == nil {
			plain, finish = &saysRoom{z}, z.Close
		}
	case is("BZh", ".bz2"):
		plain, err = bzip2.NewReader(b), nil
	case is("\xFD7zX", ".xz"):
		plain, err = newXZ(b, room)
	default:
		plain, err = b, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s:1: %w", path, err)
	}
	return plain, finish, nil
}

// newXZ returns a reader of the content of an .xz file.
func newXZ(b *bufio.Reader, room int64) (io.Reader, error) {
	if dictionary := xzDictionary(b); dictionary > max(room, leastRoom) {
		return nil, fmt.Errorf("its dictionary of %d MB %w", dictionary>>20, errRoom)
	}
	from := &ending{Reader: b}
	z, err := xz.NewReader(from)
	return &wholeXZ{z, from}, err
}

// leastRoom is the window that decoders have in any case: that of zstd -9 and xz -6.
const leastRoom = 8 << 20

var errRoom = errors.New("needs more than a quarter of --memory")

// A saysRoom says what to do about a window that is too large.
type saysRoom struct{ io.Reader }

func (s *saysRoom) Read(b []byte) (int, error) {
	n, err := s.Reader.Read(b)
	if errors.Is(err, zstd.ErrWindowSizeExceeded) {
		err = fmt.Errorf("its window %w", errRoom)
	}
	return n, err
}

// Window returns how many bytes of the content a decoder of zstd or xz holds, as the beginning of a file says; 0 for other files.
func Window(r io.Reader) int64 {
	b := bufio.NewReader(r)
	begin, _ := b.Peek(64)
	var frame zstd.Header
	if frame.Decode(begin) == nil {
		return int64(min(frame.WindowSize, 1<<32))
	}
	if bytes.HasPrefix(begin, []byte("\xFD7zX")) {
		return xzDictionary(b)
	}
	return 0
}

// xzDictionary returns the size of the dictionary of the first block of an .xz file (The .xz File Format, 3.1 and 5.3.1), or 0.
func xzDictionary(b *bufio.Reader) int64 {
	header, _ := b.Peek(64)
	if len(header) < 24 || header[12] == 0 {
		return 0
	}
	at := 14
	for flag := byte(0x40); flag != 0; flag <<= 1 { // sizes, which may be missing
		if header[13]&flag == 0 {
			continue
		}
		_, n := binary.Uvarint(header[at:])
		if at += n; n <= 0 || at+3 > len(header) {
			return 0
		}
	}
	if header[at] != 0x21 || header[at+1] != 1 || header[at+2] > 40 { // LZMA2
		return 0
	}
	bits := int64(header[at+2])
	if bits == 40 {
		return 1<<32 - 1
	}
	return (2 | bits&1) << (bits/2 + 11)
}

// A wholeXZ reads what is compressed by xz, and says if it is cut off. The library takes a cut between two blocks for the end.
type wholeXZ struct {
	io.Reader
	from *ending
}

func (x *wholeXZ) Read(b []byte) (int, error) {
	n, err := x.Reader.Read(b)
	if err == io.EOF && x.from.last != [2]byte{'Y', 'Z'} { // with these a stream ends; zeros may follow
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// An ending keeps the last two bytes that were read, without the zeros behind them.
type ending struct {
	*bufio.Reader
	last   [2]byte
	before byte // the byte that was read last
}

func (e *ending) Read(b []byte) (int, error) {
	n, err := e.Reader.Read(b)
	for _, c := range b[:n] {
		e.keep(c)
	}
	return n, err
}

func (e *ending) ReadByte() (byte, error) {
	c, err := e.Reader.ReadByte()
	if err == nil {
		e.keep(c)
	}
	return c, err
}

func (e *ending) keep(c byte) {
	if c != 0 {
		e.last = [2]byte{e.before, c}
	}
	e.before = c
}
