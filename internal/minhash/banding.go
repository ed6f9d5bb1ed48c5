package minhash

import "fmt"

// This file chooses how signatures are cut into bands.

// Price is that of a signature index: a candidate that is no match costs a tenth of a match that is no candidate, since it
// takes one comparison to find out, and the other is lost.
const Price = 0.1

// BestBanding returns the best banding of at most so many values, for sets of at least a Jaccard
// similarity. The best one has the smallest loss: the number of pairs above the similarity that do
// not become candidates, plus price times the number of pairs below it that do, if all similarities
// are equally frequent. A price of 1 weighs both errors the same, as is usual; see [Price].
// BestBanding tries values·ln values bandings, which takes some 100 µs for 128 values. The result
// is the same on every platform.
//
// It panics unless values is at least 1, similarity is above 0 and at most 1, and price is above 0.
func BestBanding(values int, similarity, price float64) Banding {
	if values < 1 || !(similarity > 0 && similarity <= 1) || !(price > 0) {
		panic(fmt.Sprintf("minhash: BestBanding(%d, %g, %g)", values, similarity, price))
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
