package exact

import (
	"math"
	"math/bits"
)

// Log2 returns log₂(x) in units of 2⁻¹⁶, truncated, for finite x ≥ 1. The last bits of [math.Log2]
// are not the same on every platform; Log2 calculates with integers.
//
// Squaring a number doubles its logarithm. So for the mantissa m, between 1 and 2, the next bit of
// the logarithm is 1 if m² is 2 or more; then m² is halved, and is the next m.
func Log2(x float64) int64 {
	frac, exp := math.Frexp(x)        // x = frac·2^exp, frac in [½, 1)
	m := uint64(math.Ldexp(frac, 64)) // 2·frac in units of 2⁻⁶³
	l := int64(exp - 1)
	for range 16 {
		m, _ = bits.Mul64(m, m) // in units of 2⁻⁶²
		l <<= 1
		if m>>63 != 0 {
			l |= 1
		} else {
			m <<= 1
		}
	}
	return l
}
