package exact

// SplitMix returns number i, from 0, of the generator SplitMix64 with the seed 0 (Steele, Lea and
// Flood 2014). It is a bijection, so different i give different numbers. It serves as a source of
// fixed random numbers and as a hash that mixes all bits.
func SplitMix(i uint64) uint64 {
	x := (i + 1) * 0x9E3779B97F4A7C15
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}
