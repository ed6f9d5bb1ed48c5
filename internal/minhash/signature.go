package minhash

import (
	"math"
	"math/bits"
	"slices"
	"sync"
	"unsafe"

	"github.com/neardup/neardup/internal/exact"
	"github.com/neardup/neardup/internal/kernel"
	"github.com/neardup/neardup/internal/store"
)

// A signature is computed by one permutation hashing (Li, Owen and Zhang 2012): the product of a
// 64-bit hash and the number of bins is a bin, in its upper word, and a place in the bin, in its
// lower word. The value of a bin is the smallest place that a feature has in it, cut to 31 bits.
// Bins without a feature borrow a value from another bin (Borrow).
//
// Values are compared two at a time in 64-bit words, without branches.

// The number of values in a signature.
const (
	MinValues     = 16
	MaxValues     = 4096
	DefaultValues = 128
)

const (
	// Borrowed is the bit that is set in a value of another bin.
	Borrowed = 1 << 31
	// EmptyBin is the value of a bin without any, greater than all others. It occurs only in
	// signatures of the empty set, and in others before Borrow.
	EmptyBin = math.MaxUint32
)

// Empty returns the signature of the empty set, which must not be changed. To copy it takes less time than to write the values.
func Empty(k int) []uint32 { return empty[:k:k] }

var empty = slices.Repeat([]uint32{EmptyBin}, MaxValues)

// IsEmpty reports whether s, after Borrow, is the signature of the empty set.
func IsEmpty(s []uint32) bool { return len(s) == 0 || s[0] == EmptyBin }

// Add adds features to the set of a signature whose values are not borrowed: each value becomes the
// minimum of itself and the new places. With permutations, each value has a permutation of its own,
// as in the textbooks, and the time is len(s)·len(hashes).
func Add(s []uint32, hashes []uint64, permutations bool) {
	if permutations {
		for len(hashes) > 0 {
			n := min(len(hashes), permuted)
			permute(s, hashes[:n])
			hashes = hashes[n:]
		}
		return
	}
	// The product is a bin and the place in it.
	bins := uint64(len(s))
	for _, h := range hashes {
		bin, place := bits.Mul64(h, bins)
		s[bin] = min(s[bin], uint32(place>>33))
	}
}

// permutationSeed is 2⁶⁴ times the square root of 2, without the whole part. No hash in use is likely to be
// near it, and so to be mixed into a number that a permutation maps to 0.
const permutationSeed = 0x6A09E667F3BCC908

// permute is Add with permutations, for 1 to 64 features. Each hash is mixed into a number of 32 bits,
// once; two features get the same one with a probability of 2⁻³². A permutation flips some bits of the
// number and multiplies it by an odd factor, and its value is the smallest product, cut to 31 bits.
// Such permutations are far from all that there are. They suffice because the numbers are as good as
// random: then the feature with the smallest product is any one of the set, with equal probability,
// and it is another one for another factor (TestEstimators).
func permute(s []uint32, hashes []uint64) {
	var buffer [permuted]uint32
	numbers := buffer[:len(hashes)]
	for i, h := range hashes {
		numbers[i] = uint32(exact.SplitMix(h) >> 32)
	}
	p := permutations()
	whole := len(s) / kernel.ProductAlign * kernel.ProductAlign
	kernel.LeastProducts(s[:whole], numbers, p.flips, p.factors)
	if rest := s[whole:]; len(rest) > 0 {
		var last [kernel.ProductAlign]uint32
		copy(last[:], rest)
		kernel.LeastProducts(last[:], numbers, p.flips[whole:], p.factors[whole:])
		copy(rest, last[:])
	}
}

// permuted is how many features are permuted at once.
const permuted = 64

// permutations returns those of all values that there may be.
var permutations = sync.OnceValue(func() (p struct{ flips, factors []uint32 }) {
	for i := range MaxValues {
		x := exact.SplitMix(permutationSeed + uint64(i))
		p.flips, p.factors = append(p.flips, uint32(x>>32)), append(p.factors, uint32(x)|1)
	}
	return p
})

// Words returns the values as words, two in each, the first one in the low half. It shares the
// memory of s. It returns nil if memory is not laid out like that: on big-endian machines, for an
// odd number of values, and if s is not aligned to 8 bytes.
func Words(s []uint32) []uint64 {
	if p := unsafe.Pointer(unsafe.SliceData(s)); store.HostIsLittle && len(s)%2 == 0 && uintptr(p)%8 == 0 {
		return unsafe.Slice((*uint64)(p), len(s)/2)
	}
	return nil
}

// Jaccard estimates the Jaccard similarity of the sets of two signatures of one length. It is NaN if both sets are empty.
func Jaccard(s, t []uint32) float64 {
	if a, b := Words(s), Words(t); a != nil && b != nil { // two values at a time, if the memory is aligned
		same, neither := kernel.CompareValues(a, b)
		return estimate(same, neither, len(s))
	}
	same, neither, _ := CompareValues(s, t)
	return estimate(same, neither, len(s))
}

// estimate returns the Jaccard similarity of two signatures that have the same value in so many bins, and neither of which has one of its own
// in so many others.
func estimate(same, neither, values int) float64 { return exact.Ratio(same, values-neither) }

// CompareValues returns the number of bins in which a and b have the same value of their own
// (same), in which neither has one of its own (neither), and in which a has one that is at most
// that of b (least; a borrowed value of b counts as greater). It has no branches: differences of 64
// bits have their sign in bit 63.
func CompareValues(a, b []uint32) (same, neither, least int) {
	b = b[:len(a)]
	for i, x := range a {
		y := b[i]
		same += int((uint64(x^y|x&Borrowed) - 1) >> 63)
		neither += int(x & y >> 31)
		least += int(((uint64(x) | uint64(x&Borrowed)<<1) - uint64(y) - 1) >> 63)
	}
	return same, neither, least
}

// IsPacked reports whether b is a number of bits to which values can be packed.
func IsPacked(b int) bool { return b == 1 || b == 2 || b == 4 || b == 8 || b == 16 }

// PackedWords returns the number of words for packed values.
func PackedWords(values, bits int) int { return (values*bits + 63) / 64 }

// PackValues writes a few bits of a hash of each value into words, which must be 0. The bits depend
// on the bin too. Otherwise two different values that are borrowed by many bins would agree by
// chance in all of them or in none.
func PackValues(words []uint64, s []uint32, bits int) {
	for i, v := range s {
		x := exact.SplitMix(uint64(v&^Borrowed)<<16|uint64(i)) >> (64 - bits)
		words[i*bits/64] |= x << (i * bits % 64)
	}
}

// unequal returns the number of values in which two packed signatures differ. It folds the
// differing bits of each value into its lowest bit.
func unequal(a, b []uint64, width int) int {
	n := 0
	// The lowest bit of each value.
	lowest := ^uint64(0) / (1<<width - 1)
	if width == 1 {
		lowest = ^uint64(0)
	}
	for i, x := range a {
		x ^= b[i]
		for w := width / 2; w > 0; w /= 2 {
			x |= x >> w
		}
		n += bits.OnesCount64(x & lowest)
	}
	return n
}

// PackedJaccard estimates the Jaccard similarity from packed signatures, neither of an empty set.
// The share of equal values is J + (1−J)·2⁻ᵇ, because different values are equal by chance; this is
// solved for J. The estimate may be a little below 0.
func PackedJaccard(a, b []uint64, values, bits int) float64 {
	chance := 1 / float64(uint64(1)<<bits)
	share := float64(values-unequal(a, b, bits)) / float64(values)
	return float64(share-chance) / float64(1-chance)
}
