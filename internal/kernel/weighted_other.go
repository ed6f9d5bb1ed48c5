//go:build !amd64 || purego

package kernel

// AddWeighted adds weights[i] to each counter whose bit is set in hashes[i], for each i, modulo 2⁶⁴.
// The counter of bit 4k+r is sums[16r+k]. It reports whether there is a kernel for it. If not, it
// does nothing.
func AddWeighted(sums *[64]uint64, hashes []uint64, weights []int64) bool { return false }
