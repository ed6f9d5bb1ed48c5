package kernel

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

// hasAVX512 says whether the kernels of near_amd64.s can run. They do the same
// as their generic twins in near.go, on 16 tags or 8 words at a time.
var hasAVX512 = cpu.X86.HasAVX512F && cpu.X86.HasAVX512VPOPCNTDQ && cpu.X86.HasBMI2

//go:noescape
func nextTagAVX512(tags *uint32, n, from int, tag uint32, k int) (at int, mask uint64)

//go:noescape
func next64AVX512(fps *uint64, n, from int, q uint64, k int) (at int, mask uint64)

//go:noescape
func next128AVX512(fps *[2]uint64, n, from int, q0, q1 uint64, k int) (at int, mask uint64)

//go:noescape
func anyPairAVX512(fps *uint64, n int, k int) bool

// Prefetch has n bytes of memory fetched, and does not wait for them.
//
//go:noescape
func Prefetch(p unsafe.Pointer, n int)

func NextTag(tags []uint32, from int, tag uint32, k int) (at int, mask uint64) {
	if hasAVX512 && from < len(tags) {
		return nextTagAVX512(&tags[0], len(tags), from, tag, k)
	}
	return nextTagGeneric(tags, from, tag, k)
}

func Next64(fps []uint64, from int, q uint64, k int) (at int, mask uint64) {
	if hasAVX512 && from < len(fps) {
		return next64AVX512(&fps[0], len(fps), from, q, k)
	}
	return next64Generic(fps, from, q, k)
}

func Next128(fps [][2]uint64, from int, q [2]uint64, k int) (at int, mask uint64) {
	if hasAVX512 && from < len(fps) {
		return next128AVX512(&fps[0], len(fps), from, q[0], q[1], k)
	}
	return next128Generic(fps, from, q, k)
}

func AnyPair(fps []uint64, k int) bool {
	if hasAVX512 && len(fps) > 0 {
		return anyPairAVX512(&fps[0], len(fps), k)
	}
	return AnyPairGeneric(fps, k)
}
