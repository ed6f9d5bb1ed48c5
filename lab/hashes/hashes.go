// Package hashes has the feature hashes that the papers name, as hashes for the library:
//
//	f := neardup.Fingerprinter{Hash: hashes.CityHash64()}
//
// S001 and Murmur3 have 64 and 128 bits, the others only 64. S001 hashes UTF-16 units; all others
// hash the bytes of the text, which is UTF-8. They are here for comparison: the library's own hash,
// xxh3, is as good as the best of them, and faster.
package hashes

import (
	"math/big"
	"unicode/utf16"
	"unsafe"

	"github.com/go-faster/city"
	"github.com/twmb/murmur3"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/internal/june2013"
)

// S001 is the hash of the program of june 2013; tables call it s001. Wang 2016 uses it too, and Li
// 2015 calls it "builtin". It is the hash of strings of Python 2, on UTF-16 units. For words of one
// Chinese character the bits from 43 on are 0, for words of two characters bit 63 is; see DeadBits.
func S001() neardup.Hash { return neardup.Hash{Sum64: june2013.Hash64, Sum128: june2013.Hash128} }

// S001Wide is S001 with any number of bits, at least 1. It computes with numbers of any size, as
// the program does. Its low bits are equal to those of S001, unless s has 2^bits units or more.
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

// BKDR32 is the classic BKDR hash: h = h·seed + byte, modulo 2³². The highest bit is then dropped,
// so there are 31 bits, and the upper half of a fingerprint is always 0. Usual seeds are 31, 131,
// 1313 and 13131.
func BKDR32(seed uint32) neardup.Hash {
	return neardup.Hash{Sum64: func(s string) uint64 {
		h := uint32(0)
		for i := range len(s) {
			h = h*seed + uint32(s[i])
		}
		return uint64(h & 0x7FFFFFFF)
	}}
}

// BKDR64 is BKDR with all 64 bits. We read "improved to 64 bits" in Li 2015 in this way; the
// paper's seed is 131. The upper bits stay empty for short words. [Mix] spreads the bits, but is
// not in the paper.
func BKDR64(seed uint64) neardup.Hash {
	return neardup.Hash{Sum64: func(s string) uint64 {
		h := uint64(0)
		for i := range len(s) {
			h = h*seed + uint64(s[i])
		}
		return h
	}}
}

// AP, DJB, JS and RS are the other hashes of strings that Li 2015 names: those of Arash Partow, Daniel
// J. Bernstein, Justin Sobel and Robert Sedgewick, in the form in which collections in C have them
// beside BKDR. They have 31 bits, and take bytes as numbers from 0 to 255; C with signed characters
// has other values for Chinese.
func AP() neardup.Hash {
	return of31Bits(0, func(h uint32, c byte, i int) uint32 {
		if i%2 == 0 {
			return h ^ (h<<7 ^ uint32(c) ^ h>>3)
		}
		return h ^ ^(h<<11 ^ uint32(c) ^ h>>5)
	})
}

// DJB is h = 33·h + byte, from 5381.
func DJB() neardup.Hash {
	return of31Bits(5381, func(h uint32, c byte, _ int) uint32 { return 33*h + uint32(c) })
}

// JS is described at [AP].
func JS() neardup.Hash {
	return of31Bits(1315423911, func(h uint32, c byte, _ int) uint32 { return h ^ (h<<5 + uint32(c) + h>>2) })
}

// RS is h = a·h + byte, where a is multiplied by 378551 after every byte.
func RS() neardup.Hash {
	return neardup.Hash{Sum64: func(s string) uint64 {
		h, a := uint32(0), uint32(63689)
		for i := range len(s) {
			h, a = h*a+uint32(s[i]), a*378551
		}
		return uint64(h & 0x7FFFFFFF)
	}}
}

// of31Bits returns a hash that goes from start through the bytes of a string. i is the position of
// the byte. The highest of 32 bits is dropped at the end.
func of31Bits(start uint32, next func(h uint32, c byte, i int) uint32) neardup.Hash {
	return neardup.Hash{Sum64: func(s string) uint64 {
		h := start
		for i := range len(s) {
			h = next(h, s[i], i)
		}
		return uint64(h & 0x7FFFFFFF)
	}}
}

// CityHash64 is CityHash64 of version 1.1.1 of 2013, the current version when Li 2015 was written.
func CityHash64() neardup.Hash {
	return neardup.Hash{Sum64: func(s string) uint64 { return city.Hash64(bytesOf(s)) }}
}

// CityHash64v102 is CityHash64 of versions 1.0 to 1.0.2 of 2011. Java ports and ClickHouse have
// this version.
func CityHash64v102() neardup.Hash {
	return neardup.Hash{Sum64: func(s string) uint64 { return city.CH64(bytesOf(s)) }}
}

// Murmur3 is MurmurHash3 for x64 with 128 bits and the seed 0. The hash with 64 bits is its first
// half.
func Murmur3() neardup.Hash {
	return neardup.Hash{Sum64: murmur3.StringSum64, Sum128: func(s string) (hi, lo uint64) {
		first, second := murmur3.StringSum128(s)
		return second, first
	}}
}

// Mix returns a hash that spreads the 64 bits of h over all 64 bits (fmix64 of MurmurHash3).
func Mix(h neardup.Hash) neardup.Hash {
	sum := h.Sum64
	return neardup.Hash{Sum64: func(s string) uint64 {
		x := sum(s)
		x = (x ^ x>>33) * 0xff51afd7ed558ccd
		x = (x ^ x>>33) * 0xc4ceb9fe1a85ec53
		return x ^ x>>33
	}}
}

// DeadBits returns a mask of the bits that are the same in the hashes of all words. Fingerprints of
// such words cannot differ in these bits. It looks at 128 bits if the hash has them, otherwise at
// 64.
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

// bytesOf returns the bytes of s without a copy. The caller must not write to them.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }
