package baseline

import (
	"math"
	"slices"
)

// This file has MinHash as textbooks describe it: a signature matrix of numbered rows, filled row
// by row. The library's MinHash works on hashes of features instead, and its values are
// independent.

// A HashFunc stands for a permutation of the rows of the characteristic matrix: it returns the new
// place of a row.
type HashFunc func(row int) int

// Linear returns the functions h(x) = (a·x + b) mod m, one for each pair {a, b}. Row numbers must
// not be negative, and a·x + b must not overflow.
func Linear(m int, pairs ...[2]int) []HashFunc {
	var family []HashFunc
	for _, p := range pairs {
		family = append(family, func(x int) int { return (p[0]*x + p[1]) % m })
	}
	return family
}

// Cyclic returns the functions of the experiment of Wang 2019: h_i(x) = (x + i) mod m for i from 1
// to n; the paper has n = m = 100. They are one permutation seen from n starting points.
//
// Over random rows the estimate has no bias. But for small sets its standard deviation is two to
// five times that of independent permutations: 0.094 instead of 0.052 for two sets of 15 rows with
// 10 in common, and 0.238 instead of 0.047 for two sets of 2 rows with one in common. For
// neighbouring rows the estimate is far off. Rows x and x + m are the same.
func Cyclic(n, m int) []HashFunc {
	var pairs [][2]int
	for i := 1; i <= n; i++ {
		pairs = append(pairs, [2]int{1, i})
	}
	return Linear(m, pairs...)
}

// Infinity is the value of a set without rows.
const Infinity = math.MaxInt

// A SignatureMatrix has a row for each function and a column for each set.
type SignatureMatrix [][]int

// NewSignatureMatrix returns the matrix of empty sets: all values are Infinity.
func NewSignatureMatrix(functions, sets int) SignatureMatrix {
	m := make(SignatureMatrix, functions)
	for i := range m {
		m[i] = slices.Repeat([]int{Infinity}, sets)
	}
	return m
}

// Add adds a row of the characteristic matrix (Wang 2019 §2.1; Mining of Massive Datasets §3.3.5).
// has[c] says whether set c contains the item of the row.
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

// MinHash returns the signature matrix of sets. A set is given as the list of its rows.
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

// Estimate returns the estimated Jaccard similarity of sets a and b: the fraction of the functions
// for which they have the same value. It is NaN if both sets are empty.
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
