package exact

import (
	"math"
)

func Ratio(n, of int) float64 {
	if of == 0 {
		return math.NaN()
	}
	return float64(n) / float64(of)
}
