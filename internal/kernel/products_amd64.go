//go:build !purego

package kernel

// MinHash of 500 features by 128 permutations takes 4.5 µs with AVX-512, 5.0 µs with AVX2, and 55 µs without
// (BenchmarkTiers).

//go:noescape
func leastProductAVX512(numbers *uint32, n int, xor, factor uint32) (least uint32)

//go:noescape
func leastProductAVX2(numbers *uint32, n int, xor, factor uint32) (least uint32)

// LeastProduct returns the smallest of the products (x ^ xor) · factor modulo 2³² of some numbers x. Their
// number is a multiple of ProductAlign, above 0. With an odd factor that is a permutation of all
// numbers.
func LeastProduct(numbers []uint32, xor, factor uint32) uint32 {
	switch tier {
	case AVX512:
		return leastProductAVX512(&numbers[0], len(numbers), xor, factor)
	case AVX2:
		return leastProductAVX2(&numbers[0], len(numbers), xor, factor)
	}
	return leastProductGeneric(numbers, xor, factor)
}
