package exact

// Power returns x to the power of n, n ≥ 0, by repeated squaring. [math.Pow] need not give the same
// on every platform.
func Power(x float64, n int) float64 {
	p := 1.0
	for ; n > 0; n /= 2 {
		if n%2 == 1 {
			p = float64(p * x)
		}
		x = float64(x * x)
	}
	return p
}
