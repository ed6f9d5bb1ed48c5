package neardup

import (
	"fmt"
	"strings"

	"github.com/neardup/neardup/internal/exact"
)

// A Banding cuts signatures into Bands bands of Rows values each. Two of them are
// candidates if they agree on all values of at least one band, which for sets of the Jaccard
// similarity s has the probability 1 − (1 − s^Rows)^Bands: an S-curve, steep near
// (1/Bands)^(1/Rows) (Broder 1997; Leskovec et al., Mining of Massive Datasets, §3.4).
type Banding struct{ Bands, Rows int }

// NewBanding returns the banding of at most so many values that loses least: of the pairs
// above the similarity those that are no candidates, and price times those below it that
// are, where all similarities are taken to be equally frequent. A price of 1 weighs them the
// same, as others do; a [SignatureIndex] chooses by 0.1. It takes time for values·ln values
// bandings, some 100 µs for 128.
//
// A similarity that is not between 0 and 1, a price that is not positive, and less than one
// value panic.
func NewBanding(values int, similarity, price float64) Banding {
	if values < 1 || !(similarity > 0 && similarity <= 1) || !(price > 0) {
		panic(fmt.Sprintf("neardup: NewBanding(%d, %g, %g)", values, similarity, price))
	}
	// By Simpson's rule: what is below the similarity, and what is above.
	const steps = 64
	var at, weight, rows [2 * (steps + 1)]float64 // similarities, and their powers
	for i := range at {
		from, to, cost := 0.0, similarity, price
		if i > steps {
			from, to, cost = similarity, 1, -1
		}
		n := i % (steps + 1)
		at[i] = from + float64(float64(n)*float64((to-from)/steps))
		weight[i] = float64(cost * float64((to-from)/(3*steps)))
		if rows[i] = 1; n > 0 && n < steps {
			weight[i] = float64(weight[i] * float64(2+2*(n%2)))
		}
	}
	var best Banding
	least := 0.0
	for r := 1; r <= values; r++ {
		var no [2 * (steps + 1)]float64 // of being no candidate
		for i := range at {
			rows[i] = float64(rows[i] * at[i])
			no[i] = 1
		}
		for b := 1; b <= values/r; b++ {
			loss := 0.0 // but for what does not depend on the banding
			for i := range at {
				no[i] = float64(no[i] * (1 - rows[i]))
				loss += float64(weight[i] * (1 - no[i]))
			}
			if best == (Banding{}) || loss < least {
				best, least = Banding{b, r}, loss
			}
		}
	}
	return best
}

// Probability returns that of two sets of a Jaccard similarity being candidates, for signatures
// without chance. It is the same on every platform.
func (b Banding) Probability(similarity float64) float64 {
	return 1 - exact.Power(1-exact.Power(similarity, b.Rows), b.Bands)
}

// String returns the banding and its S-curve:
//
//	32 bands of 4 rows: 0.1 0.003, 0.2 0.050, 0.3 0.229, 0.4 0.564, …
func (b Banding) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "%d bands of %d rows", b.Bands, b.Rows)
	for i := 1; i < 10; i++ {
		fmt.Fprintf(&s, "%s 0.%d %.3f", map[bool]string{true: ":", false: ","}[i == 1], i, b.Probability(float64(i)/10))
	}
	return s.String()
}
