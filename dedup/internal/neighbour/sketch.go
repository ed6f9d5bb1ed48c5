package neighbour

import (
	"math/bits"

	"github.com/neardup/neardup/dedup/internal/signature"
	"github.com/neardup/neardup/internal/exact"
)

// This file has what is kept in memory of a signature: a sketch of it, and the keys of its bands.

// A sketch is the four lowest bits of each value of a signature, 64 bytes instead of 256. Two sketches agree wherever the
// signatures do, and in a sixteenth of the other values. So a pair whose sketches agree in too few values is no pair of
// neighbours, and nearly all pairs that share a band by chance are told by their sketches alone: they agree in 15 values or
// so, where neighbours agree in 32. The signatures themselves are looked at for the others.
type sketch [signature.Values / 16]uint64

// sketchOf returns the sketch of a signature. Its value i stands in bits 4i to 4i+3.
func sketchOf(s *signature.Signature) (k sketch) {
	for i, x := range s {
		x &= 0x000F_000F_000F_000F
		x |= x>>12 | x>>24 | x>>36
		k[i/4] |= x & 0xFFFF << (i % 4 * 16)
	}
	return k
}

// agreement returns in how many values two sketches agree.
func (k *sketch) agreement(other *sketch) int {
	const lowest = 0x1111_1111_1111_1111
	differ := 0
	for i, x := range k {
		x ^= other[i]
		x |= x >> 1
		x |= x >> 2
		differ += bits.OnesCount64(x & lowest)
	}
	return signature.Values - differ
}

// keyOf returns the key of a band: a hash of its values.
func keyOf(s *signature.Signature, band int) uint32 {
	v := value(s, band, 0) | value(s, band, 1)<<16 | value(s, band, 2)<<32
	return uint32(exact.SplitMix(v|uint64(band)<<48) >> 32)
}

// value returns value i behind the beginning of a band, where the first one follows the last.
func value(s *signature.Signature, band, i int) uint64 {
	return s.Value((band*rows + i) % signature.Values)
}

// compareFrom compares two signatures by the first n values from the beginning of a band.
func compareFrom(a, b *signature.Signature, band, n int) int {
	for i := range n {
		switch x, y := value(a, band, i), value(b, band, i); {
		case x < y:
			return -1
		case x > y:
			return 1
		}
	}
	return 0
}

// Keys are the keys of the bands of the last signatures that were added, by ordinal. Those of one band stand in a row, since
// nobody wants more than one band at a time.
type keys struct {
	from   int // the ordinal of the first one
	n      int
	blocks []*[bands][keyBlock]uint32
}

// keyBlock is how many signatures share a block of keys, which takes 86 KB.
const keyBlock = 512

// append appends the keys of a signature.
func (k *keys) append(s *signature.Signature) {
	if k.n%keyBlock == 0 {
		k.blocks = append(k.blocks, new([bands][keyBlock]uint32))
	}
	block, at := k.blocks[k.n/keyBlock], k.n%keyBlock
	for b := range bands {
		block[b][at] = keyOf(s, b)
	}
	k.n++
}

// end returns the ordinal behind the last one.
func (k *keys) end() int { return k.from + k.n }

// row returns the keys of a band from ordinal from+i on that stand in a row.
func (k *keys) row(band, i int) []uint32 {
	return k.blocks[i/keyBlock][band][i%keyBlock : min(keyBlock, k.n-i/keyBlock*keyBlock)]
}

// forget drops all keys. The next ones are those of the ordinals from from on.
func (k *keys) forget(from int) { *k = keys{from: from} }
