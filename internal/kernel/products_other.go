//go:build !amd64 || purego

package kernel

// LeastProduct returns the smallest permuted hash, or least if that is smaller. A permuted hash is the
// upper 31 bits of the exclusive or of the two words of the product (hash ^ xor) · factor.
func LeastProduct(hashes []uint64, xor, factor uint64, least uint32) uint32 {
	return leastProductGeneric(hashes, xor, factor, least)
}
