//go:build !amd64 || purego

package kernel

// LeastProduct returns the smallest of the products (x ^ xor) · factor modulo 2³² of some numbers x. Their
// number is a multiple of ProductAlign, above 0. With an odd factor that is a permutation of all
// numbers.
func LeastProduct(numbers []uint32, xor, factor uint32) uint32 {
	return leastProductGeneric(numbers, xor, factor)
}
