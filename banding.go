package neardup

import (
	"fmt"
	"strings"

	"github.com/neardup/neardup/internal/exact"
)

// This file chooses how signatures are cut into bands, and tells what a choice finds.

// A Banding cuts signatures into Bands bands of Rows values each. Two signatures are candidates if
// they agree on all values of at least one band. For sets with the Jaccard similarity s, that has
// the probability 1 − (1 − s^Rows)^Bands: an S-curve that is steep near (1/Bands)^(1/Rows) (Broder
// 1997; Leskovec et al., Mining of Massive Datasets, §3.4). More bands find more, more rows confuse
// less.
type Banding struct{ Bands, Rows int }

// NewBanding returns the best banding of at most so many values, for sets of at least a Jaccard
// similarity. The best one has the smallest loss: the number of pairs above the similarity that do
// not become candidates, plus price times the number of pairs below it that do, if all similarities
// are equally frequent. A price of 1 weighs both errors the same, as is usual; a [SignatureIndex]
// takes 0.1. NewBanding tries values·ln values bandings, which takes some 100 µs for 128 values.
// The result is the same on every platform.
//
// It panics unless values is at least 1, similarity is above 0 and at most 1, and price is above 0.
func NewBanding(values int, similarity, price float64) Banding {
	if values < 1 || !(similarity > 0 && similarity <= 1) || !(price > 0) {
		panic(fmt.Sprintf("neardup: NewBanding(%d, %g, %g)", values, similarity, price))
	}
	// Integrate by Simpson's rule, in two parts: from 0 to the similarity, and from there to 1.
	// Explicit conversions to float64 keep the compiler from fusing operations, which would change
	// the result on some platforms.
	const steps = 64
	var at, weight, rows [2 * (steps + 1)]float64 // similarities, weights in the integral, powers
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
		var no [2 * (steps + 1)]float64 // the probability of being no candidate
		for i := range at {
			rows[i] = float64(rows[i] * at[i])
			no[i] = 1
		}
		for b := 1; b <= values/r; b++ {
			loss := 0.0 // up to a constant that does not depend on the banding
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

// Probability returns how likely two sets with a Jaccard similarity, 0 to 1, are to become
// candidates. It leaves out that different values may be equal by chance. It is the same on every
// platform.
func (b Banding) Probability(similarity float64) float64 {
	return 1 - exact.Power(1-exact.Power(similarity, b.Rows), b.Bands)
}

// String returns the banding and its S-curve, as similarities and probabilities:
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
