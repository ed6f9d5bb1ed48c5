//go:build !purego

package kernel

import "unsafe"

// The assembly gets the first element and the length, so slices must not be empty. It reads no
// element from n on: the lanes of the last vector that have none are masked.

//go:noescape
func nextTagAVX512(tags *uint32, n, from int, tag uint32, k int) (at int, mask uint64)

//go:noescape
func next64AVX512(fps *uint64, n, from int, q uint64, k int) (at int, mask uint64)

//go:noescape
func next128AVX512(fps *[2]uint64, n, from int, q0, q1 uint64, k int) (at int, mask uint64)

//go:noescape
func anyPairAVX512(fps *uint64, n int, k int) bool

// All pairs within 3 bits among ten million take 1.35 s with AVX-512, 1.65 s with AVX2, and 2.85 s
// without (BenchmarkPairs). The assembly for AVX2 looks at whole vectors of 8 tags, 4 fingerprints of
// 64 bits or 2 of 128, so n must be a multiple of that.

//go:noescape
func nextTagAVX2(from *uint32, n int, q uint32, k int) (at int, mask uint64)

//go:noescape
func next64AVX2(from *uint64, n int, q uint64, k int) (at int, mask uint64)

//go:noescape
func next128AVX2(from *[2]uint64, n int, q0, q1 uint64, k int) (at int, mask uint64)

//go:noescape
func anyPairAVX2(fps *uint64, n int, k int) bool

// Prefetch asks the processor to fetch n bytes from p on into its cache, and does not wait for
// them. It is only a hint.
//
//go:noescape
func Prefetch(p unsafe.Pointer, n int)

// The vectors of AVX2 have so many elements.
const tagLanes, lanes64, lanes128 = 8, 4, 2

// A copy of so few elements takes longer than to look at them.
const enough = 8

func nextTagVectors(from *uint32, n int, q uint32, k int) (int, uint64) {
	return nextTagAVX2(from, n, q, k)
}

func next64Vectors(from *uint64, n int, q uint64, k int) (int, uint64) {
	return next64AVX2(from, n, q, k)
}

func next128Vectors(from *[2]uint64, n int, q0, q1 uint64, k int) (int, uint64) {
	return next128AVX2(from, n, q0, q1, k)
}

// NextTag finds the next block of tags with any within k bits of tag; see the top of near.go.
func NextTag(tags []uint32, from int, tag uint32, k int) (at int, mask uint64) {
	if tier == AVX512 && from < len(tags) {
		return nextTagAVX512(&tags[0], len(tags), from, tag, k)
	}
	return nextTag(tags, from, tag, k)
}

// Next64 finds the next block of fingerprints with any within k bits of q; see the top of near.go.
func Next64(fps []uint64, from int, q uint64, k int) (at int, mask uint64) {
	if tier == AVX512 && from < len(fps) {
		return next64AVX512(&fps[0], len(fps), from, q, k)
	}
	return next64(fps, from, q, k)
}

// Next128 is [Next64] for 128 bits. The order of the two words does not matter.
func Next128(fps [][2]uint64, from int, q [2]uint64, k int) (at int, mask uint64) {
	if tier == AVX512 && from < len(fps) {
		return next128AVX512(&fps[0], len(fps), from, q[0], q[1], k)
	}
	return next128(fps, from, q, k)
}

// AnyPair reports whether any two of fps are within k bits. It compares all pairs, so it is for few
// fingerprints.
func AnyPair(fps []uint64, k int) bool {
	switch {
	case tier == AVX512 && len(fps) > 0:
		return anyPairAVX512(&fps[0], len(fps), k)
	case tier == AVX2 && len(fps) > 4:
		return anyPairAVX2(&fps[0], len(fps), k) || AnyPairGeneric(fps[len(fps)-4:], k)
	}
	return AnyPairGeneric(fps, k)
}
