package kernel

import "math/bits"

// This file permutes hashes, for MinHash with a permutation for each value.

// leastProductGeneric is [LeastProduct] in portable Go.
func leastProductGeneric(hashes []uint64, xor, factor uint64, least uint32) uint32 {
	for _, h := range hashes {
		hi, lo := bits.Mul64(h^xor, factor)
		least = min(least, uint32((hi^lo)>>33))
	}
	return least
}
