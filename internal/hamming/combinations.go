package hamming

import (
	"math"
	"math/bits"
)

// This file has the combinatorics of tables for combinations of blocks: how many tables m blocks
// need at distance k, and which blocks are in the key of each; see plan.go.

// Binomial returns the number of ways to choose k of n, and 0 if k > n. It returns the largest
// integer if the result, or a product on the way to it, does not fit. So the caller may compare it
// with a limit without thinking of overflow.
func Binomial(n, k int) int {
	b := 1
	for i := range min(k, n-k) {
		hi, lo := bits.Mul64(uint64(b), uint64(n-i))
		if hi > 0 || lo > math.MaxInt {
			return math.MaxInt
		}
		b = int(lo / uint64(i+1)) // now b is Binomial(n, i+1): the division has no remainder
	}
	if k > n {
		return 0
	}
	return b
}

// Combinations yields every choice of k of the numbers 0 to n−1, in lexicographic order, 0 ≤ k ≤ n.
// It reuses the slice: the caller may keep it only until the next one.
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
			// Increase the last number that can grow, and put the ones behind it right after it.
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
