// Package hashes has the feature hashes that the papers name, to plug into the library:
//
//	f := neardup.Fingerprinter{Hash: hashes.CityHash64()}
//
// S001 and Murmur3 have 64 and 128 bits, the others 64 only. All of them but s001 hash the bytes of the text, which is UTF-8. They serve for comparison: xxh3, which the
// library uses, is as good as the best of them and faster.
package hashes

import (
	"math/big"
	"unicode/utf16"
	"unsafe"

	"github.com/go-faster/city"
	"github.com/twmb/murmur3"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/internal/s001"
)

// S001 is the hash of the program of S001, also used by S000 and called "builtin" by S003: that of strings in
// Python 2, on UTF-16 units. Words of one Chinese character leave the bits from 43 on 0, those of two bit 63; see
// DeadBits.
func S001() neardup.Hash { return neardup.Hash{Sum64: s001.Hash64, Sum128: s001.Hash128} }

// S001Wide is S001 with any number of bits, at least 1, computed as the program does, in numbers of any
// size. Its low bits are those of S001, unless s has 2^bits units or more.
func S001Wide(s string, bits int) *big.Int {
	units := utf16.Encode([]rune(s))
	x := new(big.Int)
	if len(units) == 0 {
		return x
	}
	mask := new(big.Int).Lsh(big.NewInt(1), uint(bits))
	mask.Sub(mask, big.NewInt(1))
	x.SetInt64(int64(units[0]) << 7)
	for _, u := range units {
		x.Mul(x, big.NewInt(1000003))
		x.Xor(x, big.NewInt(int64(u)))
		x.And(x, mask)
	}
	return x.Xor(x, big.NewInt(int64(len(units))))
}

// BKDR32 is the classic BKDR hash: h = h·seed + byte, modulo 2³², and then without the highest bit, so that 31 bits are
// left, and the upper half of a fingerprint is all 0. Seeds are 31, 131, 1313, 13131 and so on.
func BKDR32(seed uint32) neardup.Hash {
	return neardup.Hash{Sum64: func(s string) uint64 {
		h := uint32(0)
		for i := range len(s) {
			h = h*seed + uint32(s[i])
		}
		return uint64(h & 0x7FFFFFFF)
	}}
}

// BKDR64 is the same in 64 bits, all of them, which is how we read "improved to 64 bits" in S003; the seed is 131 there. It does
// not fill the upper bits with short words: spread by [Mix] it does, but that is not in the paper.
func BKDR64(seed uint64) neardup.Hash {
	return neardup.Hash{Sum64: func(s string) uint64 {
		h := uint64(0)
		for i := range len(s) {
			h = h*seed + uint64(s[i])
		}
		return h
	}}
}

// CityHash64 is that of version 1.1.1 of 2013, current when S003 was written.
func CityHash64() neardup.Hash {
	return neardup.Hash{Sum64: func(s string) uint64 { return city.Hash64(bytesOf(s)) }}
}

// CityHash64v102 is that of the versions 1.0 to 1.0.2 of 2011, which Java ports and ClickHouse have.
func CityHash64v102() neardup.Hash {
	return neardup.Hash{Sum64: func(s string) uint64 { return city.CH64(bytesOf(s)) }}
}

// Murmur3 is MurmurHash3 for x64 with 128 bits and the seed 0; its first half is that with 64 bits.
func Murmur3() neardup.Hash {
	return neardup.Hash{Sum64: murmur3.StringSum64, Sum128: func(s string) (hi, lo uint64) {
		first, second := murmur3.StringSum128(s)
		return second, first
	}}
}

// Mix is a hash of 64 bits whose bits are spread over all of them (fmix64 of MurmurHash3).
func Mix(h neardup.Hash) neardup.Hash {
	sum := h.Sum64
	return neardup.Hash{Sum64: func(s string) uint64 {
		x := sum(s)
		x = (x ^ x>>33) * 0xff51afd7ed558ccd
		x = (x ^ x>>33) * 0xc4ceb9fe1a85ec53
		return x ^ x>>33
	}}
}

// DeadBits returns, as a mask, the bits that are the same in the hashes of all words: of 128 bits if the hash has so many, or
// else of 64. Fingerprints of such words can differ in the others only.
func DeadBits(words []string, h neardup.Hash) neardup.Fingerprint128 {
	var ones, zeros neardup.Fingerprint128
	for _, w := range words {
		hi, lo := uint64(0), uint64(0)
		if h.Sum128 != nil {
			hi, lo = h.Sum128(w)
		} else {
			lo = h.Sum64(w)
		}
		ones.Hi, ones.Lo = ones.Hi|hi, ones.Lo|lo
		zeros.Hi, zeros.Lo = zeros.Hi|^hi, zeros.Lo|^lo
	}
	dead := neardup.Fingerprint128{Hi: ^(ones.Hi & zeros.Hi), Lo: ^(ones.Lo & zeros.Lo)}
	if h.Sum128 == nil {
		dead.Hi = 0
	}
	return dead
}

// bytesOf returns the bytes of s, which must not be written to.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }
