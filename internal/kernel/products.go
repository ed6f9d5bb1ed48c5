package kernel

// This file permutes numbers, for MinHash with a permutation for each value.

// ProductAlign is what the number of numbers is a multiple of.
const ProductAlign = 64

// leastProductGeneric is [LeastProduct] in portable Go.
func leastProductGeneric(numbers []uint32, xor, factor uint32) uint32 {
	least := ^uint32(0)
	for _, x := range numbers {
		least = min(least, (x^xor)*factor)
	}
	return least
}
