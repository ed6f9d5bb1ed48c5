package exact

import (
	"math"
)

// Ratio returns n/of, or NaN if of is 0. The similarity of two empty sets, for example, is not
// defined, and NaN says so.
func Ratio(n, of int) float64 {
	if of == 0 {
		return math.NaN()
	}
	return float64(n) / float64(of)
}
