package hamming

import (
	"math"
	"math/bits"
)

// Binomial returns the number of ways to choose k of n, or the largest integer if
// that is smaller.
func Binomial(n, k int) int {
	b := 1
	for i := range min(k, n-k) {
		hi, lo := bits.Mul64(uint64(b), uint64(n-i))
		if hi > 0 || lo > math.MaxInt {
			return math.MaxInt
		}
		b = int(lo / uint64(i+1))
	}
	if k > n {
		return 0
	}
	return b
}

// Combinations yields every choice of k of n numbers, in order.
func Combinations(n, k int) func(yield func([]int) bool) {
	return func(yield func([]int) bool) {
		choice := make([]int, k)
		for i := range choice {
			choice[i] = i
		}
		for {
			if !yield(choice) {
				return
			}
			i := k - 1
			for i >= 0 && choice[i] == n-k+i {
				i--
			}
			if i < 0 {
				return
			}
			for choice[i]++; i+1 < k; i++ {
				choice[i+1] = choice[i] + 1
			}
		}
	}
}
