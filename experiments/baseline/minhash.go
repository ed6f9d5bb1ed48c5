package baseline

import (
	"math"
	"slices"
)

// A HashFunc maps the number of a row of the characteristic matrix to where a permutation
// puts it.
type HashFunc func(row int) int

// Linear returns the family of h(x) = (a·x + b) mod m, for each pair {a, b}. Rows are to be
// non-negative, and small enough for a·x + b.
func Linear(m int, pairs ...[2]int) []HashFunc {
	var family []HashFunc
	for _, p := range pairs {
		family = append(family, func(x int) int { return (p[0]*x + p[1]) % m })
	}
	return family
}

// Cyclic returns the family of S002's experiment, h_i(x) = (x + i) mod m for i = 1 to n, there with
// n = m = 100. They are one permutation seen from n starting points. Over random rows the
// estimate is unbiased, but of small sets its standard deviation is twice to five times that of as
// many permutations: 0.094 against 0.052 for two sets of 15 that share 10, 0.238 against 0.047
// for two of 2 that share one. Neighbouring rows are estimated grossly wrong, and rows x and
// x + m are the same.
func Cyclic(n, m int) []HashFunc {
	var pairs [][2]int
	for i := 1; i <= n; i++ {
		pairs = append(pairs, [2]int{1, i})
	}
	return Linear(m, pairs...)
}

// Infinity is the value of what has no row.
const Infinity = math.MaxInt

// A SignatureMatrix has a row for each function and a column for each set.
type SignatureMatrix [][]int

// NewSignatureMatrix returns the matrix without any row of the sets: all values are Infinity.
func NewSignatureMatrix(functions, sets int) SignatureMatrix {
	m := make(SignatureMatrix, functions)
	for i := range m {
		m[i] = slices.Repeat([]int{Infinity}, sets)
	}
	return m
}

// Add takes in a row of the characteristic matrix (S002 §2.1; Mining of Massive Datasets
// §3.3.5): has says which sets contain its item.
func (m SignatureMatrix) Add(row int, has []bool, family []HashFunc) {
	for i, h := range family {
		x := h(row)
		for c, in := range has {
			if in {
				m[i][c] = min(m[i][c], x)
			}
		}
	}
}

// MinHash returns the signature matrix of sets, which are given by their rows.
func MinHash(sets [][]int, family []HashFunc) SignatureMatrix {
	m := NewSignatureMatrix(len(family), len(sets))
	for c, rows := range sets {
		has := make([]bool, len(sets))
		has[c] = true
		for _, row := range rows {
			m.Add(row, has, family)
		}
	}
	return m
}

// Estimate returns the share of the functions by which two sets have the same value. It is
// NaN if both sets are empty.
func (m SignatureMatrix) Estimate(a, b int) float64 {
	same := 0
	for _, row := range m {
		if row[a] == row[b] {
			same++
		}
		if row[a] == Infinity && row[b] == Infinity {
			return math.NaN()
		}
	}
	return float64(same) / float64(len(m))
}
