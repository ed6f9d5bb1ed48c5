package format

import (
	"encoding/binary"

	"github.com/zeebo/xxh3"
)

// Checksum returns the checksum of b, the xxh3 seeded with the checksum before. So a chain of
// checksums depends on all data and on its order.
func Checksum(b []byte, before uint64) uint64 { return xxh3.HashSeed(b, before) }

// A digest condenses settings that are too long for a version. Every part is written with its
// length, or with a fixed one, so that different sequences of parts differ.
type digest struct{ h *xxh3.Hasher }

// NewDigest returns a digest of nothing.
func NewDigest() digest { return digest{xxh3.New()} }

// Uint64 adds a number.
func (d digest) Uint64(x uint64) { d.h.Write(binary.BigEndian.AppendUint64(nil, x)) }

// Text adds a text.
func (d digest) Text(s string) {
	d.Uint64(uint64(len(s)))
	d.h.WriteString(s)
}

// Sum returns the digest of all that was added.
func (d digest) Sum() uint64 { return d.h.Sum64() }
