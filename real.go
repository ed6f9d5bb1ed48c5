package neardup

import "math"

// The logarithm and the exponential of the standard library are not the same to the
// last bit on every platform, and a compiler may fuse a product and a sum into one
// rounding where the processor can. Weights must not depend on that: these two use
// sums and products only, each rounded by itself, which the conversions enforce.

// ln returns the natural logarithm of x, for x > 0 and finite, within 2 units of the
// last place.
func ln(x float64) float64 {
	frac, exp := math.Frexp(x)
	if frac < math.Sqrt2/2 {
		frac, exp = 2*frac, exp-1
	}
	// ln(frac) = 2·artanh(s) with |s| < 0.172
	s := (frac - 1) / (frac + 1)
	z := float64(s * s)
	sum := 0.0
	for n := 23; n > 1; n -= 2 {
		sum = float64((sum + 1/float64(n)) * z)
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

// exp returns e to the power of x within 2 units of the last place; 0 below −700,
// and NaN for NaN. x must not exceed 700.
func exp(x float64) float64 {
	if x != x || x < -700 {
		return max(x, 0)
	}
	k := math.Round(float64(x * math.Log2E))
	x = x - float64(k*ln2High) - float64(k*ln2Low) // |x| < 0.35
	sum := 1.0
	for n := 14; n > 0; n-- {
		sum = 1 + float64(float64(sum*x)/float64(n))
	}
	return math.Ldexp(sum, int(k))
}
