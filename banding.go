package neardup

import (
	"fmt"
	"strings"
)

// A Banding cuts signatures into Bands bands of Rows values each. Two of them are
// candidates if they agree on all values of at least one band, which for sets of the Jaccard
// similarity s has the probability 1 − (1 − s^Rows)^Bands: an S-curve, steep near
// (1/Bands)^(1/Rows) (Broder 1997; Leskovec et al., Mining of Massive Datasets, §3.4).
type Banding struct{ Bands, Rows int }

// NewBanding returns the banding of at most so many values that loses least. What it loses
// is the share of pairs above the similarity that are no candidates, plus that of pairs
// below it that are, where one that is not found weighs as much as 1/price that are compared for
// nothing; all similarities are taken to be equally frequent. 1 weighs them the same, as others do;
// a [SignatureIndex] chooses by 0.1.
//
// A similarity that is not between 0 and 1, a price that is not positive, and less than one
// value panic.
func NewBanding(values int, similarity, price float64) Banding {
	if values < 1 || !(similarity > 0 && similarity <= 1) || !(price > 0) {
		panic(fmt.Sprintf("neardup: NewBanding(%d, %g, %g)", values, similarity, price))
	}
	var best Banding
	least := 0.0
	for rows := 1; rows <= values; rows++ {
		if b := (Banding{values / rows, rows}); best == (Banding{}) || b.loss(similarity, price) < least {
			best, least = b, b.loss(similarity, price)
		}
	}
	return best
}

// loss returns what NewBanding minimises, by Simpson's rule.
func (b Banding) loss(similarity, price float64) float64 {
	const steps = 64
	area := func(from, to float64) float64 {
		sum, step := 0.0, float64((to-from)/steps)
		for i := range steps + 1 {
			weight := float64(2 + 2*(i%2))
			if i == 0 || i == steps {
				weight = 1
			}
			sum += float64(weight * b.Probability(from+float64(step*float64(i))))
		}
		return float64(sum * step / 3)
	}
	return float64(price*area(0, similarity)) + float64(1-similarity) - area(similarity, 1)
}

// Probability returns that of two sets of a Jaccard similarity being candidates, for signatures
// without chance. It is the same on every platform.
func (b Banding) Probability(similarity float64) float64 {
	return 1 - power(1-power(similarity, b.Rows), b.Bands)
}

// power returns x to the n-th, n ≥ 0, the same on every platform.
func power(x float64, n int) float64 {
	p := 1.0
	for ; n > 0; n /= 2 {
		if n%2 == 1 {
			p = float64(p * x)
		}
		x = float64(x * x)
	}
	return p
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
