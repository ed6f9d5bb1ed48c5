package exact

// SplitMix is the i-th number of the generator SplitMix64 with the seed 0.
func SplitMix(i uint64) uint64 {
	x := (i + 1) * 0x9E3779B97F4A7C15
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}
