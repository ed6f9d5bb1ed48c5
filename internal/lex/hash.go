package lex

import (
	"encoding/binary"
	"math/bits"
	"unsafe"

	"github.com/neardup/neardup/internal/kernel"
	"github.com/zeebo/xxh3"
)

// This file computes the XXH3 hashes of many short strings side by side, without a seed. They are those
// of github.com/zeebo/xxh3, which takes one string at a time. Most of its time for a word goes into
// guessing wrong, for nobody can predict the lengths of words, and XXH3 has another formula for each
// range of lengths. So a kernel first sorts 64 strings by these ranges, and then there is a loop for
// each. Without a kernel that would take as long as one string at a time.
//
// The formulas are those of XXH3_64bits in the specification of xxHash
// (https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md), for up to 32 bytes and the seed 0.

const (
	prime1   = 0x9E3779B185EBCA87 // PRIME64_1 and so on of XXH64
	prime2   = 0xC2B2AE3D27D4EB4F
	prime3   = 0x165667B19E3779F9
	primeMx1 = 0x165667919E3779F9
	primeMx2 = 0x9FB21C651E98DF25

	// Parts of the secret, as the formulas combine them: of 1 to 3 bytes, 4 to 8, 9 to 16, 17 to 32.
	flip3                          = 0x87275A9B
	flip8                          = 0xC73AB174C5ECD5A2
	flip16, high16                 = 0x6782737BEA4239B9, 0xAF56BC3B0996523A
	first32, next32, last32, end32 = 0xBE4BA423396CFEB8, 0x1CAD21F72C81017C, 0xDB979083E96DD4DE, 0x1F67B3B7A4A44072
)

// hashAll sets out[i] to the hash of buf[start[i]:end[i]], for each i. No string is empty. alike says
// that most have the same length, which the processor then predicts, so sorting would gain nothing.
func hashAll(out []uint64, buf []byte, start, end []uint32, alike bool) {
	for !alike && len(out) >= 64 {
		masks, ok := kernel.Shorter((*[64]uint32)(start), (*[64]uint32)(end), &limits)
		if !ok {
			break
		}
		hash64((*[64]uint64)(out), buf, (*[64]uint32)(start), (*[64]uint32)(end), masks)
		out, start, end = out[64:], start[64:], end[64:]
	}
	for i := range out {
		// Two characters of Han have six bytes.
		if n := uint64(end[i] - start[i]); n-4 <= 8-4 {
			out[i] = hash8(buf[start[i]:end[i]], n)
			continue
		}
		out[i] = xxh3.Hash(buf[start[i]:end[i]])
	}
}

// limits are the lengths at which the next formula begins.
var limits = [4]uint32{4, 9, 17, 33}

// hash64 hashes 64 strings. Bit i of masks[j] says whether string i is shorter than limits[j].
func hash64(out *[64]uint64, buf []byte, start, end *[64]uint32, masks [4]uint64) {
	to3, to8, to16, to32 := masks[0], masks[1], masks[2], masks[3]
	for m := ^to32; m != 0; m &= m - 1 {
		i := bits.TrailingZeros64(m) & 63
		out[i] = xxh3.Hash(buf[start[i]:end[i]])
	}
	for m := to32 &^ to16; m != 0; m &= m - 1 {
		i := bits.TrailingZeros64(m) & 63
		b := buf[start[i]:end[i]]
		n := uint64(len(b))
		h := n*prime1 + fold(u64(b, 0)^first32, u64(b, 8)^next32) + fold(u64(b, n-16)^last32, u64(b, n-8)^end32)
		out[i] = avalanche(h)
	}
	for m := to16 &^ to8; m != 0; m &= m - 1 {
		i := bits.TrailingZeros64(m) & 63
		b := buf[start[i]:end[i]]
		n := uint64(len(b))
		lo, hi := u64(b, 0)^flip16, u64(b, n-8)^high16
		out[i] = avalanche(n + bits.ReverseBytes64(lo) + hi + fold(lo, hi))
	}
	for m := to8 &^ to3; m != 0; m &= m - 1 {
		i := bits.TrailingZeros64(m) & 63
		b := buf[start[i]:end[i]]
		out[i] = hash8(b, uint64(len(b)))
	}
	for m := to3; m != 0; m &= m - 1 {
		i := bits.TrailingZeros64(m) & 63
		b := buf[start[i]:end[i]]
		n := uint64(len(b))
		h := (uint64(b[0])<<16 | uint64(b[n>>1])<<24 | uint64(b[n-1]) | n<<8) ^ flip3
		h ^= h >> 33
		h *= prime2
		h ^= h >> 29
		h *= prime3
		out[i] = h ^ h>>32
	}
}

// hash8 returns the hash of n bytes, 4 to 8.
func hash8(b []byte, n uint64) uint64 {
	h := (u32(b, n-4) + u32(b, 0)<<32) ^ flip8
	h ^= bits.RotateLeft64(h, 49) ^ bits.RotateLeft64(h, 24)
	h *= primeMx2
	h ^= h>>35 + n
	h *= primeMx2
	return h ^ h>>28
}

// fold returns the two halves of a product, one over the other.
func fold(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

func avalanche(h uint64) uint64 {
	h ^= h >> 37
	h *= primeMx1
	return h ^ h>>32
}

// u64 returns the eight bytes of b from at on, which must be there.
func u64(b []byte, at uint64) uint64 {
	return binary.LittleEndian.Uint64((*[8]byte)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(b)), at))[:])
}

// u32 is u64 for four bytes.
func u32(b []byte, at uint64) uint64 {
	return uint64(binary.LittleEndian.Uint32((*[4]byte)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(b)), at))[:]))
}
