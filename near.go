package neardup

import "math/bits"

// The inner loops of the index and of the join. matchTags and anyPair choose
// between these twins and a kernel.

// matchTagsGeneric returns in bit i whether tag i, of the first 64, is within k
// bits of tag.
func matchTagsGeneric(tags []uint32, tag uint32, k int) (mask uint64) {
	tags = tags[:min(len(tags), 64)]
	if k == 3 {
		// Clearing three bits takes less time than counting all.
		for i, x := range tags {
			x ^= tag
			x &= x - 1
			x &= x - 1
			if x&(x-1) == 0 {
				mask |= 1 << i
			}
		}
		return mask
	}
	for i, x := range tags {
		if bits.OnesCount32(x^tag) <= k {
			mask |= 1 << i
		}
	}
	return mask
}

// anyPairGeneric reports whether any two of fps are within k bits.
func anyPairGeneric(fps []uint64, k int) bool {
	for i, a := range fps {
		for _, b := range fps[i+1:] {
			if bits.OnesCount64(a^b) <= k {
				return true
			}
		}
	}
	return false
}
