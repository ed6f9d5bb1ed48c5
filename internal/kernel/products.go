package kernel

// This file permutes numbers, for MinHash with a permutation for each value.

// ProductAlign is what the number of permutations is a multiple of.
const ProductAlign = 32

// leastProductsGeneric is [LeastProducts] in portable Go.
func leastProductsGeneric(least, numbers, flips, factors []uint32) {
	for i := range least {
		flip, factor, smallest := flips[i], factors[i], ^uint32(0)
		for _, x := range numbers {
			smallest = min(smallest, (x^flip)*factor)
		}
		least[i] = min(least[i], smallest>>1)
	}
}
