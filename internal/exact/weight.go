package exact

import "math"

// LogCount returns 1 + ln n, the same on every platform, and n itself up to 1.
func LogCount(n float64) float64 {
	if n > 1 {
		return 1 + Ln(n)
	}
	return n
}

// WeightBits is the number of binary places of a quantised weight.
const WeightBits = 20

// Quantize rounds a weight to a multiple of 2⁻²⁰, half away from zero, and returns the multiple.
// That is what accumulators add: in integers, a sum does not depend on the order of its terms, and
// a tie is exactly 0.
//
// NaN counts as 0. Weights beyond ±2³¹ are taken as ±2³¹. The weights of one document should sum to
// less than 2⁴³, so that the sum of the multiples stays below 2⁶³.
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
	return int64(math.Round(weight * (1 << WeightBits)))
}
