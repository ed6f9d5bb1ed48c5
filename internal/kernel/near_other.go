//go:build (!amd64 && !arm64) || purego

package kernel

import "unsafe"

// Prefetch does nothing here: Go has no portable way to prefetch.
func Prefetch(unsafe.Pointer, int) {}

// NextTag finds the next block of tags with any within k bits of tag; see the top of near.go.
func NextTag(tags []uint32, from int, tag uint32, k int) (at int, mask uint64) {
	return nextTagGeneric(tags, from, tag, k)
}

// Next64 finds the next block of fingerprints with any within k bits of q; see the top of near.go.
func Next64(fps []uint64, from int, q uint64, k int) (at int, mask uint64) {
	return next64Generic(fps, from, q, k)
}

// Next128 is [Next64] for 128 bits. The order of the two words does not matter.
func Next128(fps [][2]uint64, from int, q [2]uint64, k int) (at int, mask uint64) {
	return next128Generic(fps, from, q, k)
}

// AnyPair reports whether any two of fps are within k bits. It compares all pairs, so it is for few
// fingerprints.
func AnyPair(fps []uint64, k int) bool { return AnyPairGeneric(fps, k) }
