package neardup

import "math"

// weightBits is the number of binary places of a quantised weight.
const weightBits = 20

// Quantize rounds a weight to a multiple of 2⁻²⁰, half away from zero, and
// returns the multiple, which is what accumulators add. In integers a sum does
// not depend on the order of its terms and a tie is a tie.
//
// NaN counts as 0. Weights beyond ±2³¹ are taken as ±2³¹. The weights of one
// document should sum to less than 2⁴³.
func Quantize(weight float64) int64 {
	const limit = 1 << 31
	switch {
	case weight != weight:
		return 0
	case weight > limit:
		weight = limit
	case weight < -limit:
		weight = -limit
	}
	return int64(math.Round(weight * (1 << weightBits)))
}
