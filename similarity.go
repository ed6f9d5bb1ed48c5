package neardup

import "math"

// HammingSimilarity returns 1 − distance/width, the share of equal bits of two
// fingerprints of width bits: 1 for equal ones, about 0.5 for unrelated ones. A
// distance outside 0 to width gives NaN.
func HammingSimilarity(distance, width int) float64 {
	if distance < 0 || distance > width || width == 0 {
		return math.NaN()
	}
	return 1 - float64(distance)/float64(width)
}

// HammingCosine returns cos(π·distance/width), which estimates the cosine of
// the weighted feature vectors of two texts from their fingerprints of width
// bits: two vectors at the angle θ differ in each bit with the probability θ/π
// (Charikar 2002; S000 §3.1). The standard error of the angle is
// π·√(p(1−p)/width) with p = distance/width.
//
// A distance outside 0 to width gives NaN. The result is the same on every
// platform, which [math.Cos] does not promise.
func HammingCosine(distance, width int) float64 {
	if distance < 0 || distance > width || width == 0 {
		return math.NaN()
	}
	if distance == 0 || distance == width {
		return float64(1 - 2*(distance/width))
	}
	// With x = 2·distance/width − 1 in [−1, 1], cos(π·distance/width) is
	// −sin(πx/2). Conversions forbid fused multiply-adds.
	x := float64(2*distance-width) / float64(width) * (math.Pi / 2)
	xx := float64(x * x)
	sum := 0.0
	for n := 27; n >= 3; n -= 2 { // Horner's rule on the Taylor series
		sum = float64((1 + sum) * -xx / float64(n*(n-1)))
	}
	return 0 - float64(x*(1+sum)) // 0 − x so that there is no −0
}
