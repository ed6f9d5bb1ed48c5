package minhash

import (
	"math"
	"math/bits"
	"unsafe"

	"github.com/neardup/neardup/internal/exact"
	"github.com/neardup/neardup/internal/store"
)

const (
	MinValues     = 16
	MaxValues     = 4096
	DefaultValues = 128
)

const (
	Borrowed = 1 << 31        // is set in what is not of its own bin
	EmptyBin = math.MaxUint32 // more than all others
)

// IsEmpty reports whether s is of the empty set.
func IsEmpty(s []uint32) bool { return len(s) == 0 || s[0] == EmptyBin }

// Add adds features to the set of a signature without borrowed values.
func Add(s []uint32, hashes []uint64, permutations bool) {
	if permutations {
		for i := range s {
			xor, factor := exact.SplitMix(uint64(2*i)), exact.SplitMix(uint64(2*i+1))|1
			least := s[i]
			for _, h := range hashes {
				hi, lo := bits.Mul64(h^xor, factor)
				least = min(least, uint32((hi^lo)>>33))
			}
			s[i] = least
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

// Borrow gives each empty bin the value of another, if there is any. For each bin there is
// an order of all the others that does not depend on the sets; it borrows from the first
// that is not empty. If that bin has the smallest of the union of two sets from both, both
// borrow the same; so the probability of that is their Jaccard similarity.
//
// The order begins with some bins at random (Shrivastava 2017), which nearly always do. If
// few bins have a feature it goes on with the rounds in which those that have one offer it
// each to a bin at random (Mai et al. 2020), so that the time is bounded.
func Borrow(s []uint32) {
	empty := 0
	for _, v := range s {
		if v == EmptyBin {
			empty++
		}
	}
	if empty == 0 || empty == len(s) {
		return
	}
	k := uint64(len(s))
	for i, v := range s {
		if v != EmptyBin {
			continue
		}
		random := uint64(0)
		for try := range uint64(16) {
			if random >>= 16; try%4 == 0 {
				random = exact.SplitMix(uint64(i)<<48 | try)
			}
			if from := s[random&0xFFFF*k>>16]; from < Borrowed {
				s[i] = lend(from)
				empty--
				break
			}
		}
	}
	if empty > 0 {
		offerValues(s, empty)
	}
}

// offerValues is borrowValues for the bins that are still empty, so many.
func offerValues(s []uint32, empty int) {
	var lenders []int
	for i, v := range s {
		if v < Borrowed {
			lenders = append(lenders, i)
		}
	}
	for round := uint64(1); ; round++ {
		for _, from := range lenders {
			to, _ := bits.Mul64(exact.SplitMix(uint64(from)<<48|round<<4), uint64(len(s)))
			if s[to] != EmptyBin {
				continue
			}
			s[to] = lend(s[from])
			if empty--; empty == 0 {
				return
			}
		}
	}
}

// lend returns a value as another bin has it: never as of an empty one.
func lend(v uint32) uint32 { return min(v|Borrowed, EmptyBin-1) }

// Words returns the values two in a word, the first one in its low half, if they are so in
// memory, or nil.
func Words(s []uint32) []uint64 {
	if p := unsafe.Pointer(unsafe.SliceData(s)); store.HostIsLittle && len(s)%2 == 0 && uintptr(p)%8 == 0 {
		return unsafe.Slice((*uint64)(p), len(s)/2)
	}
	return nil
}

// CompareWords is compareValues for the first two results, two values at a time.
func CompareWords(a, b []uint64) (same, neither int) {
	const high = Borrowed<<32 | Borrowed // bits of values
	b = b[:len(a)]
	s, n := uint64(0), uint64(0) // in two halves
	for i, x := range a {
		y := b[i]
		d := x ^ y | x&high
		s += ^((d&^high + ^uint64(high)) | d) & high >> 31 // no bit of d is set
		n += x & y & high >> 31
	}
	return int(uint32(s) + uint32(s>>32)), int(uint32(n) + uint32(n>>32))
}

// CompareValues returns in how many bins a and b have the same value of their own, in how
// many neither has one, and in how many a has one that is not more than that of b.
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

func IsPacked(b int) bool { return b == 1 || b == 2 || b == 4 || b == 8 || b == 16 }

func PackedWords(values, bits int) int { return (values*bits + 63) / 64 }

// PackValues puts some bits of each value into words, which are empty. The bits depend on
// the bin, so that two borrowed values do not agree by chance in all bins that have them.
func PackValues(words []uint64, s []uint32, bits int) {
	for i, v := range s {
		x := exact.SplitMix(uint64(v&^Borrowed)<<16|uint64(i)) >> (64 - bits)
		words[i*bits/64] |= x << (i * bits % 64)
	}
}

// unequal returns in how many values of some bits two packed signatures differ.
func unequal(a, b []uint64, width int) int {
	n := 0
	lowest := ^uint64(0) / (1<<width - 1) // bit of each value
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

func PackedJaccard(a, b []uint64, values, bits int) float64 {
	chance := 1 / float64(uint64(1)<<bits)
	share := float64(values-unequal(a, b, bits)) / float64(values)
	return float64(share-chance) / float64(1-chance)
}
