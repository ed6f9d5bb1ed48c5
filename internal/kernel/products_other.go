//go:build !amd64 || purego

package kernel

// LeastProducts sets each least[i] to the smallest of itself and the products (x ^ flips[i]) · factors[i] modulo 2³² of some numbers x,
// without their lowest bit. There is at least one number. The length of least is a multiple of ProductAlign, and flips and factors are as long. With an odd factor
// that is a permutation of all numbers.
func LeastProducts(least, numbers, flips, factors []uint32) {
	leastProductsGeneric(least, numbers, flips, factors)
}
