package kernel

// This file sorts strings by their lengths.

// Limits are the lengths of [Shorter].
type Limits [4]uint32

// shorterGeneric is [Shorter] in portable Go.
func shorterGeneric(start, end []uint32, limits *Limits) (masks [4]uint64) {
	end = end[:len(start)]
	for i, s := range start {
		n := uint64(end[i] - s)
		for j, limit := range limits {
			masks[j] |= (n - uint64(limit)) >> 63 << (i & 63)
		}
	}
	return masks
}
