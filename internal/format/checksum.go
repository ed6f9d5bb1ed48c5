package format

import (
	"encoding/binary"

	"github.com/zeebo/xxh3"
)

// Checksum is the checksum of files: it depends on the one before.
func Checksum(b []byte, before uint64) uint64 { return xxh3.HashSeed(b, before) }

// A digest condenses what a version cannot spell out.
type digest struct{ h *xxh3.Hasher }

func NewDigest() digest { return digest{xxh3.New()} }

func (d digest) Uint64(x uint64) { d.h.Write(binary.BigEndian.AppendUint64(nil, x)) }

func (d digest) Text(s string) {
	d.Uint64(uint64(len(s)))
	d.h.WriteString(s)
}

func (d digest) Sum() uint64 { return d.h.Sum64() }
