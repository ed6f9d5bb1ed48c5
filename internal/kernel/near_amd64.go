package kernel

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

// hasAVX512 says whether the processor can run near_amd64.s. It has the loops of near.go, on 16
// tags or 8 words at a time. VPOPCNTDQ counts the bits of each lane.
var hasAVX512 = cpu.X86.HasAVX512F && cpu.X86.HasAVX512VPOPCNTDQ && cpu.X86.HasBMI2

// The assembly gets the first element and the length, so slices must not be empty. It reads no
// element from n on: the lanes of the last vector that have none are masked. It compares distances
// as unsigned numbers, so a negative k lets every element pass.

//go:noescape
func nextTagAVX512(tags *uint32, n, from int, tag uint32, k int) (at int, mask uint64)

//go:noescape
func next64AVX512(fps *uint64, n, from int, q uint64, k int) (at int, mask uint64)

//go:noescape
func next128AVX512(fps *[2]uint64, n, from int, q0, q1 uint64, k int) (at int, mask uint64)

//go:noescape
func anyPairAVX512(fps *uint64, n int, k int) bool

// Prefetch asks the processor to fetch n bytes from p on into its cache, and does not wait for
// them. It is only a hint.
//
//go:noescape
func Prefetch(p unsafe.Pointer, n int)

// NextTag finds the next block of tags with any within k bits of tag; see the top of near.go.
func NextTag(tags []uint32, from int, tag uint32, k int) (at int, mask uint64) {
	if hasAVX512 && from < len(tags) {
		return nextTagAVX512(&tags[0], len(tags), from, tag, k)
	}
	return nextTagGeneric(tags, from, tag, k)
}

// Next64 finds the next block of fingerprints with any within k bits of q; see the top of near.go.
func Next64(fps []uint64, from int, q uint64, k int) (at int, mask uint64) {
	if hasAVX512 && from < len(fps) {
		return next64AVX512(&fps[0], len(fps), from, q, k)
	}
	return next64Generic(fps, from, q, k)
}

// Next128 is [Next64] for 128 bits. The order of the two words does not matter.
func Next128(fps [][2]uint64, from int, q [2]uint64, k int) (at int, mask uint64) {
	if hasAVX512 && from < len(fps) {
		return next128AVX512(&fps[0], len(fps), from, q[0], q[1], k)
	}
	return next128Generic(fps, from, q, k)
}

// AnyPair reports whether any two of fps are within k bits. It compares all pairs, so it is for few
// fingerprints.
func AnyPair(fps []uint64, k int) bool {
	if hasAVX512 && len(fps) > 0 {
		return anyPairAVX512(&fps[0], len(fps), k)
	}
	return AnyPairGeneric(fps, k)
}
