// Package june2013 is the string hash of the program of june 2013, which Wang 2016 and Li 2015 use
// too: the multiplicative hash of Python 2, on UTF-16 units. It exists for comparisons with the
// papers. It is not a good feature hash, because short words leave its upper bits constant.
package june2013

import (
	"math/bits"
	"unicode/utf16"
)

const multiplier = 1000003

// Hash64 returns the low 64 bits of the hash of s.
func Hash64(s string) uint64 {
	_, lo := Hash128(s)
	return lo
}

// Hash128 returns the 128-bit hash hi·2⁶⁴+lo of s. Its low bits are the hash of
// any smaller width, as long as s has fewer than 2^width units.
func Hash128(s string) (hi, lo uint64) {
	units := utf16.Encode([]rune(s))
	if len(units) == 0 {
		return 0, 0
	}
	lo = uint64(units[0]) << 7
	for _, u := range units {
		carry, low := bits.Mul64(lo, multiplier)
		hi, lo = hi*multiplier+carry, low^uint64(u)
	}
	return hi, lo ^ uint64(len(units))
}
