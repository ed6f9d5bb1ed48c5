package exact

import (
	"math"
)

// The logarithm and the exponential of the standard library are not the same to the
// last bit on every platform, and a compiler may fuse a product and a sum into one
// rounding where the processor can. Weights must not depend on that: these two use
// sums and products only, each rounded by itself, which the conversions enforce.

// Ln returns the natural logarithm of x, for x > 0 and finite, within 2 units of the
// last place.
func Ln(x float64) float64 {
	frac, exp := math.Frexp(x)
	if frac < math.Sqrt2/2 {
		frac, exp = 2*frac, exp-1
	}
	// Ln(frac) = 2·artanh(s) with |s| < 0.172
	s := (frac - 1) / (frac + 1)
	z := float64(s * s)
	sum := 0.0
	for _, c := range artanh {
		sum = float64((sum + c) * z)
	}
	ln := float64(2 * s)
	ln += float64(ln * sum)
	k := float64(exp)
	return float64(k*ln2High) + (float64(k*ln2Low) + ln)
}

// ln2High has so few bits that its product with an exponent is exact.
const (
	ln2High = 6.93147180369123816490e-01
	ln2Low  = 1.90821492927058770002e-10
)

// artanh are the coefficients of the series of artanh(s)/s − 1 in s², last first.
var artanh = [...]float64{1. / 23, 1. / 21, 1. / 19, 1. / 17, 1. / 15, 1. / 13, 1. / 11, 1. / 9, 1. / 7, 1. / 5, 1. / 3}

// Exp returns e to the power of x within 2 units of the last place; 0 below −700,
// and NaN for NaN. x must not exceed 700.
func Exp(x float64) float64 {
	if x != x || x < -700 {
		return max(x, 0)
	}
	k := math.Round(float64(x * math.Log2E))
	x = x - float64(k*ln2High) - float64(k*ln2Low) // |x| < 0.35
	sum := 0.0
	for _, c := range factorials {
		sum = float64(sum*x) + c
	}
	return math.Ldexp(sum, int(k))
}

// factorials are the coefficients of the series of eˣ, last first.
var factorials = [...]float64{1. / 87178291200, 1. / 6227020800, 1. / 479001600, 1. / 39916800, 1. / 3628800, 1. / 362880, 1. / 40320, 1. / 5040, 1. / 720, 1. / 120, 1. / 24, 1. / 6, 1. / 2, 1, 1}
