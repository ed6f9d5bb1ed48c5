//go:build !amd64

package neardup

import "unsafe"

func prefetch(unsafe.Pointer, int) {}

func nextTag(tags []uint32, from int, tag uint32, k int) (at int, mask uint64) {
	return nextTagGeneric(tags, from, tag, k)
}

func next64(fps []uint64, from int, q uint64, k int) (at int, mask uint64) {
	return next64Generic(fps, from, q, k)
}

func next128(fps [][2]uint64, from int, q [2]uint64, k int) (at int, mask uint64) {
	return next128Generic(fps, from, q, k)
}

func anyPair(fps []uint64, k int) bool { return anyPairGeneric(fps, k) }
