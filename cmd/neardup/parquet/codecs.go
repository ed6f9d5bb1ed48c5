package parquet

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// This file decompresses pages. The codecs of the library allocate what a page claims about itself beside what its header
// says, refuse pages of no bytes (which data pages of nulls have), and lack LZ4 as Hadoop frames it. Those here fill the buffer
// that the header asks for, and nothing else: more or fewer bytes are an error.

// registerCodecs gives the library the codecs of this file. It compresses with its own.
var registerCodecs = sync.OnceFunc(func() {
	for of, decode := range map[compress.Compression]func(dst, src []byte) error{
		compress.Codecs.Snappy: decodeSnappy,
		compress.Codecs.Gzip:   decodeGzip,
		compress.Codecs.Brotli: decodeBrotli,
		compress.Codecs.Zstd:   decodeZstd,
		compress.Codecs.Lz4Raw: decodeLZ4,
		compress.Codecs.Lz4:    decodeHadoopLZ4,
	} {
		from := of
		if of == compress.Codecs.Lz4 {
			from = compress.Codecs.Lz4Raw
		}
		library, err := compress.GetCodec(from)
		if err != nil {
			panic(err) // the library has them all
		}
		compress.RegisterCodec(of, codec{library, decode})
	}
})

// A codec decompresses with a function of this file.
type codec struct {
	compress.Codec
	decode func(dst, src []byte) error // fills dst, or returns an error
}

func (c codec) DecodeWithError(dst, src []byte) ([]byte, error) {
	if len(src) == 0 {
		return dst[:0], nil
	}
	return dst, c.decode(dst, src)
}

func (c codec) Decode(dst, src []byte) []byte {
	dst, err := c.DecodeWithError(dst, src)
	if err != nil {
		panic(err) // which the library returns as an error
	}
	return dst
}

var errSize = errors.New("its size differs from that in the page header")

func decodeSnappy(dst, src []byte) error {
	n, err := snappy.DecodedLen(src)
	if err == nil && n != len(dst) {
		err = errSize
	}
	if err == nil {
		_, err = snappy.Decode(dst, src)
	}
	return err
}

func decodeGzip(dst, src []byte) error {
	z, err := gzip.NewReader(bytes.NewReader(src)) // which reads members that follow each other
	if err != nil {
		return err
	}
	return fill(dst, z)
}

func decodeBrotli(dst, src []byte) error { return fill(dst, brotli.NewReader(bytes.NewReader(src))) }

// fill fills dst, behind which r must end.
func fill(dst []byte, r io.Reader) error {
	if _, err := io.ReadFull(r, dst); err != nil {
		return err
	}
	switch _, err := io.ReadFull(r, make([]byte, 1)); err {
	case io.EOF:
		return nil
	case nil:
		return errSize
	default:
		return err
	}
}

// zstdDecoder decodes for all goroutines. It never allocates what frames claim: neither their windows nor their sizes.
var zstdDecoder = sync.OnceValue(func() *zstd.Decoder {
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		panic(err) // there is nothing that could be wrong
	}
	return z
})

func decodeZstd(dst, src []byte) error {
	b, err := zstdDecoder().DecodeAll(src, dst[:0:len(dst)])
	if err == nil && len(b) != len(dst) {
		err = errSize
	}
	return err
}

func decodeLZ4(dst, src []byte) error {
	n, err := lz4.UncompressBlock(src, dst)
	if err == nil && n != len(dst) {
		err = errSize
	}
	return err
}

// decodeHadoopLZ4 decompresses what files call LZ4: blocks as Hadoop frames them, with the sizes of both in front of each, big
// end first; or a frame of LZ4; or one block, as older versions of Arrow wrote it.
func decodeHadoopLZ4(dst, src []byte) error {
	if hadoopBlocks(dst, src) == nil {
		return nil
	}
	if len(src) > 4 && binary.LittleEndian.Uint32(src) == 0x184D2204 {
		return fill(dst, lz4.NewReader(bytes.NewReader(src)))
	}
	return decodeLZ4(dst, src)
}

func hadoopBlocks(dst, src []byte) error {
	for len(src) > 0 {
		if len(src) < 8 {
			return io.ErrUnexpectedEOF
		}
		size, packed := int64(binary.BigEndian.Uint32(src)), int64(binary.BigEndian.Uint32(src[4:]))
		if src = src[8:]; size > int64(len(dst)) || packed > int64(len(src)) {
			return fmt.Errorf("a block of %d bytes: %w", size, errSize)
		}
		if err := decodeLZ4(dst[:size], src[:packed]); err != nil {
			return err
		}
		dst, src = dst[size:], src[packed:]
	}
	if len(dst) > 0 {
		return errSize
	}
	return nil
}
