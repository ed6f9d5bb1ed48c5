package cli

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// InFile adds the name of a file to an error of the file system, in the form of
// all errors.
func InFile(path string, err error) error {
	var wrapped *fs.PathError
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	return fmt.Errorf("%s:1: %w", path, err)
}

// Decompress undoes gzip and zstd, which it knows by the content or the name. finish must be
// called in the end.
func Decompress(r io.Reader, path string) (plain io.Reader, finish func(), err error) {
	b := bufio.NewReaderSize(r, 1<<18)
	magic, err := b.Peek(4)
	switch {
	case err != nil && err != io.EOF:
		return nil, nil, InFile(path, err)
	case len(magic) == 0: // empty is empty, whatever the name
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
	}
	return b, func() {}, nil
}
