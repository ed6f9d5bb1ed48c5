// Package exact has arithmetic that gives the same result, to the last bit, on every platform.
//
// The logarithm and the exponential of the standard library do not: some platforms have their own
// in assembly. Also, a compiler may fuse a product and a sum into one operation with one rounding
// where the processor has it. Weights, and so fingerprints, must not depend on the machine. So
// these functions use only operations that IEEE 754 defines exactly, and round each by itself,
// which the explicit conversions to float64 enforce.
package exact

import (
	"math"
)

// Ln returns the natural logarithm of x, for x > 0 and finite, within 2 units of the last place.
//
// It writes x as frac·2^exp with frac between √½ and √2, so that ln x = ln frac + exp·ln 2, and
// takes ln frac = 2·artanh((frac−1)/(frac+1)) from its series.
func Ln(x float64) float64 {
	frac, exp := math.Frexp(x)
	if frac < math.Sqrt2/2 {
		frac, exp = 2*frac, exp-1
	}
	s := (frac - 1) / (frac + 1) // |s| < 0.172, so eleven terms of the series suffice
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

// ln 2 in two parts. ln2High has so few bits that its product with an exponent is exact.
const (
	ln2High = 6.93147180369123816490e-01
	ln2Low  = 1.90821492927058770002e-10
)

// artanh are the coefficients of the series of artanh(s)/s − 1 in s², last first.
var artanh = [...]float64{1. / 23, 1. / 21, 1. / 19, 1. / 17, 1. / 15, 1. / 13, 1. / 11, 1. / 9, 1. / 7, 1. / 5, 1. / 3}

// Exp returns e to the power of x, within 2 units of the last place. It is 0 below −700 and NaN for
// NaN. x must not exceed 700.
//
// It writes x as k·ln 2 + r with |r| < 0.35, so that eˣ = 2ᵏ·eʳ, and takes eʳ from its series.
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
