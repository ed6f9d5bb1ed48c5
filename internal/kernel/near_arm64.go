//go:build !purego

package kernel

import "unsafe"

// All pairs within 3 bits among a million take 518 million instructions with NEON and 776 million
// without, and a search among them 3,080 and 3,570. That was counted under emulation
// (BenchmarkTiers), not timed. n must be a multiple of 16, and not 0.

//go:noescape
func nextTagNEON(from *uint32, n int, q uint32, k int) (at int, mask uint64)

//go:noescape
func next64NEON(from *uint64, n int, q uint64, k int) (at int, mask uint64)

//go:noescape
func next128NEON(from *[2]uint64, n int, q0, q1 uint64, k int) (at int, mask uint64)

// NEON looks at so many elements at a time.
const tagLanes, lanes64, lanes128 = 16, 16, 16

// So many elements are enough for a copy.
const enough = 5

func nextTagVectors(from *uint32, n int, q uint32, k int) (int, uint64) {
	return nextTagNEON(from, n, q, k)
}

func next64Vectors(from *uint64, n int, q uint64, k int) (int, uint64) {
	return next64NEON(from, n, q, k)
}

func next128Vectors(from *[2]uint64, n int, q0, q1 uint64, k int) (int, uint64) {
	return next128NEON(from, n, q0, q1, k)
}

// Prefetch asks the processor to fetch n bytes from p on into its cache, and does not wait for
// them. It is only a hint.
//
//go:noescape
func Prefetch(p unsafe.Pointer, n int)

// NextTag finds the next block of tags with any within k bits of tag; see the top of near.go.
func NextTag(tags []uint32, from int, tag uint32, k int) (at int, mask uint64) {
	return nextTag(tags, from, tag, k)
}

// Next64 finds the next block of fingerprints with any within k bits of q; see the top of near.go.
func Next64(fps []uint64, from int, q uint64, k int) (at int, mask uint64) {
	return next64(fps, from, q, k)
}

// Next128 is [Next64] for 128 bits. The order of the two words does not matter.
func Next128(fps [][2]uint64, from int, q [2]uint64, k int) (at int, mask uint64) {
	return next128(fps, from, q, k)
}

// AnyPair reports whether any two of fps are within k bits. It compares all pairs, so it is for few
// fingerprints.
//
// Here it compares the list with itself, turned by one, by two, and so on up to half of its length,
// which is every pair.
func AnyPair(fps []uint64, k int) bool {
	const most = 48
	n := len(fps)
	if tier != NEON || n < 4 || n > most {
		return AnyPairGeneric(fps, k)
	}
	var ring [most + most/2]uint64
	copy(ring[copy(ring[:], fps):], fps[:n/2])
	for from := 0; from < n; from += 16 {
		near := pairsNEON(&ring[from], &ring[from], n/2, k)
		if near&(1<<min(n-from, 16)-1) != 0 {
			return true
		}
	}
	return false
}

// pairsNEON compares 16 elements at fps with the 16 at ring+1, with those at ring+2, and so on. It
// returns which of them, as bits, have ever been near.
//
//go:noescape
func pairsNEON(fps, ring *uint64, rounds, k int) (near uint64)
