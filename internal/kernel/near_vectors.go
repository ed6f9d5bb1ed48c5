//go:build (amd64 || arm64) && !purego

package kernel

import "math/bits"

// This file is the way to kernels that look at whole vectors only, for AVX2 and NEON. They get a number
// of elements that is a multiple of what a vector has. What is left behind is looked at here: if it is
// enough, in a copy that fills a vector.

// nextTag is [NextTag] by vectors.
func nextTag(tags []uint32, from int, tag uint32, k int) (at int, mask uint64) {
	if from >= len(tags) || tier == Generic {
		return nextTagGeneric(tags, from, tag, k)
	}
	whole := (len(tags) - from) &^ (tagLanes - 1)
	if whole > 0 {
		at, mask = nextTagVectors(&tags[from], whole, tag, k)
	}
	at, behind, more := lastBlock(at, mask, whole)
	if more {
		rest := tags[from+whole:]
		if len(rest) >= enough {
			var last [tagLanes]uint32
			n := copy(last[:], rest)
			_, near := nextTagVectors(&last[0], tagLanes, tag, k)
			mask |= near & (1<<n - 1) << behind
		} else {
			for i, x := range rest {
				if bits.OnesCount32(x^tag) <= k {
					mask |= 1 << (behind + i)
				}
			}
		}
	}
	return found(from+at, mask, len(tags))
}

// next64 is [Next64] by vectors.
func next64(fps []uint64, from int, q uint64, k int) (at int, mask uint64) {
	if from >= len(fps) || tier == Generic {
		return next64Generic(fps, from, q, k)
	}
	whole := (len(fps) - from) &^ (lanes64 - 1)
	if whole > 0 {
		at, mask = next64Vectors(&fps[from], whole, q, k)
	}
	at, behind, more := lastBlock(at, mask, whole)
	if more {
		rest := fps[from+whole:]
		if len(rest) >= enough {
			var last [lanes64]uint64
			n := copy(last[:], rest)
			_, near := next64Vectors(&last[0], lanes64, q, k)
			mask |= near & (1<<n - 1) << behind
		} else {
			for i, x := range rest {
				if bits.OnesCount64(x^q) <= k {
					mask |= 1 << (behind + i)
				}
			}
		}
	}
	return found(from+at, mask, len(fps))
}

// next128 is [Next128] by vectors.
func next128(fps [][2]uint64, from int, q [2]uint64, k int) (at int, mask uint64) {
	if from >= len(fps) || tier == Generic {
		return next128Generic(fps, from, q, k)
	}
	whole := (len(fps) - from) &^ (lanes128 - 1)
	if whole > 0 {
		at, mask = next128Vectors(&fps[from], whole, q[0], q[1], k)
	}
	at, behind, more := lastBlock(at, mask, whole)
	if more {
		rest := fps[from+whole:]
		if len(rest) >= enough {
			var last [lanes128][2]uint64
			n := copy(last[:], rest)
			_, near := next128Vectors(&last[0], lanes128, q[0], q[1], k)
			mask |= near & (1<<n - 1) << behind
		} else {
			for i, x := range rest {
				if bits.OnesCount64(x[0]^q[0])+bits.OnesCount64(x[1]^q[1]) <= k {
					mask |= 1 << (behind + i)
				}
			}
		}
	}
	return found(from+at, mask, len(fps))
}

// lastBlock says whether the elements behind whole vectors are still to be looked at: those of the
// block in which a scan ended, or of the last block if it found nothing. behind is their position in
// this block.
func lastBlock(at int, mask uint64, whole int) (block, behind int, more bool) {
	if mask == 0 {
		at = whole &^ (NearBlock - 1)
	}
	return at, whole - at, whole-at < NearBlock
}

// found returns a block and its matches, or n if there is none.
func found(at int, mask uint64, n int) (int, uint64) {
	if mask == 0 {
		return n, 0
	}
	return at, mask
}
