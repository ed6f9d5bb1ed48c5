//go:build !amd64 || purego

package kernel

// CountBits counts, for each bit, in how many of the first hashes it is set. It returns how many hashes
// that were, and the number of lanes. Each lane has counted a part of them: bit i of
// planes[lanes*j+lane] is bit j of a count of bit i. The planes must be 0 before. It counts none if
// they are too few, or if there is no kernel for it.
func CountBits(planes *[MostLanes * Planes]uint64, hashes []uint64) (counted, lanes int) { return 0, 0 }
