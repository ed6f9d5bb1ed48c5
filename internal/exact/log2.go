package exact

import (
	"math"
	"math/bits"
)

// Log2 returns log₂(x) in units of 2⁻¹⁶, for x ≥ 1, by squaring the mantissa.
// The last bits of [math.Log2] are not the same on every platform.
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
