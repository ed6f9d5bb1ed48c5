package cli

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

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
// them by the first bytes or by the name. The caller must call finish at the end.
func Decompress(r io.Reader, path string) (plain io.Reader, finish func(), err error) {
	b := bufio.NewReaderSize(r, 1<<18)
	magic, err := b.Peek(4)
	switch {
	case err != nil && err != io.EOF:
		return nil, nil, InFile(path, err)
	case len(magic) == 0: // an empty file is empty, whatever its name says
		return b, func() {}, nil
	case bytes.HasPrefix(magic, []byte{0x1F, 0x8B}) || strings.HasSuffix(path, ".gz"):
		z, err := gzip.NewReader(b)
		if err != nil {
			return nil, nil, fmt.Errorf("%s:1: %w", path, err)
		}
		return z, func() {}, nil
	case bytes.Equal(magic, []byte{0x28, 0xB5, 0x2F, 0xFD}) || strings.HasSuffix(path, ".zst"):
		z, err := zstd.NewReader(b, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(1<<31))
		if err != nil {
			return nil, nil, fmt.Errorf("%s:1: %w", path, err)
		}
		return z, z.Close, nil
	case bytes.HasPrefix(magic, []byte("BZh")) || strings.HasSuffix(path, ".bz2"):
		return bzip2.NewReader(b), func() {}, nil
	case bytes.HasPrefix(magic, []byte("\xFD7zX")) || strings.HasSuffix(path, ".xz"):
		z, err := xz.NewReader(b)
		if err != nil {
			return nil, nil, fmt.Errorf("%s:1: %w", path, err)
		}
		return z, func() {}, nil
	}
	return b, func() {}, nil
}
