package kernel

// This file is about the kernel that counts the bits of hashes ([CountBits]), whose portable twin is in
// internal/bitsum.

const (
	Planes       = 10 // bits of a count
	MostLanes    = 8  // of [CountBits]
	LeastCounted = 64 // hashes; fewer are counted on no tier
)
