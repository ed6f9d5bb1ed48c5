package kernel

import (
	"math/bits"
)

// This file has the loops of the index and of the join, which go through tags or fingerprints for
// those near a query. [NextTag], [Next64] and [Next128] work like an iterator. They look at blocks
// of NearBlock elements, from index from on, and stop at the first block with an element within k
// bits. They return the index at which the block begins, and its matches: bit i of mask stands for
// element at+i. k is not negative. Without a match they return the length and 0. To go on, call them again from
// at+NearBlock. The last block may be shorter.

// NearBlock is the number of elements in a block.
const NearBlock = 64

// nextTagGeneric is [NextTag] in portable Go.
func nextTagGeneric(tags []uint32, from int, tag uint32, k int) (at int, mask uint64) {
	for at = from; at < len(tags); at += NearBlock {
		block := tags[at:min(at+NearBlock, len(tags))]
		if k == 3 {
			// The usual distance. To clear the lowest set bit three times, and see whether any
			// is left, takes less time than to count all bits.
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

// next64Generic is [Next64] in portable Go.
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

// next128Generic is [Next128] in portable Go.
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

// AnyPairGeneric is [AnyPair] in portable Go.
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
