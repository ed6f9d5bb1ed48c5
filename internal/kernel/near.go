package kernel

import (
	"math/bits"
)

// The inner loops of the index and of the join: they go through tags or
// fingerprints to those that are near. nextTag, next64, next128 and anyPair choose
// between these twins and a kernel.
//
// Each next looks at n at a time, from the place from, where n is nearBlock, and
// stops at the first such block that has anything within k bits. It returns the
// place of the block and its matches, bit i for the i-th; or the length and 0.

const NearBlock = 64

func nextTagGeneric(tags []uint32, from int, tag uint32, k int) (at int, mask uint64) {
	for at = from; at < len(tags); at += NearBlock {
		block := tags[at:min(at+NearBlock, len(tags))]
		if k == 3 {
			// Clearing three bits takes less time than counting all.
			for i, x := range block {
				x ^= tag
				x &= x - 1
				x &= x - 1
				if x&(x-1) == 0 {
					mask |= 1 << i
				}
			}
		} else {
			for i, x := range block {
				if bits.OnesCount32(x^tag) <= k {
					mask |= 1 << i
				}
			}
		}
		if mask != 0 {
			return at, mask
		}
	}
	return len(tags), 0
}

func next64Generic(fps []uint64, from int, q uint64, k int) (at int, mask uint64) {
	for at = from; at < len(fps); at += NearBlock {
		for i, x := range fps[at:min(at+NearBlock, len(fps))] {
			if bits.OnesCount64(x^q) <= k {
				mask |= 1 << i
			}
		}
		if mask != 0 {
			return at, mask
		}
	}
	return len(fps), 0
}

func next128Generic(fps [][2]uint64, from int, q [2]uint64, k int) (at int, mask uint64) {
	for at = from; at < len(fps); at += NearBlock {
		for i, x := range fps[at:min(at+NearBlock, len(fps))] {
			if bits.OnesCount64(x[0]^q[0])+bits.OnesCount64(x[1]^q[1]) <= k {
				mask |= 1 << i
			}
		}
		if mask != 0 {
			return at, mask
		}
	}
	return len(fps), 0
}

// AnyPairGeneric reports whether any two of fps are within k bits.
func AnyPairGeneric(fps []uint64, k int) bool {
	for i, a := range fps {
		for _, b := range fps[i+1:] {
			if bits.OnesCount64(a^b) <= k {
				return true
			}
		}
	}
	return false
}
