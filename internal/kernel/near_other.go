//go:build !amd64

package kernel

import "unsafe"

func Prefetch(unsafe.Pointer, int) {}

func NextTag(tags []uint32, from int, tag uint32, k int) (at int, mask uint64) {
	return nextTagGeneric(tags, from, tag, k)
}

func Next64(fps []uint64, from int, q uint64, k int) (at int, mask uint64) {
	return next64Generic(fps, from, q, k)
}

func Next128(fps [][2]uint64, from int, q [2]uint64, k int) (at int, mask uint64) {
	return next128Generic(fps, from, q, k)
}

func AnyPair(fps []uint64, k int) bool { return AnyPairGeneric(fps, k) }
