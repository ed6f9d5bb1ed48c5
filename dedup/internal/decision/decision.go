// Package decision turns the evidence about a pair into the probability that the two are near-duplicates.
//
// It is a logistic function of a few quantities (package evidence), the same for everybody. Its numbers come from
// collections with truth, short and long, in Chinese, English and other languages, from planted copies, and from
// collections in which copies are rare. The program lab/cmd/decision fits them and writes fitted.go;
// docs/dedup.md has what each collection loses when it is left out of the fit, and how often the probabilities are
// right.
//
// There are two functions for texts. One looks at the texts alone, and one at the neighbourhoods too. Where the
// first says yes and the second no, the two texts are alike, but so are many others: they are copies of one
// template. Records have a function of their own, and no templates: all records of a table have one form.
package decision

import (
	"github.com/neardup/neardup/dedup/internal/evidence"
	"github.com/neardup/neardup/internal/exact"
)

// A function is the intercept and the coefficients of a logistic function.
type function struct {
	intercept float64
	texts     [evidence.FromTexts]float64
	places    [evidence.FromPlaces]float64
}

// logOdds returns the logarithm of the odds, and what each quantity adds to it.
func (f *function) logOdds(v *evidence.Vector) (sum float64, adds [len(evidence.Names)]float64) {
	sum = f.intercept
	for i, x := range v.Texts {
		adds[i] = float64(f.texts[i] * x)
		sum += adds[i]
	}
	for i, x := range v.Places {
		adds[evidence.FromTexts+i] = float64(f.places[i] * x)
		sum += adds[evidence.FromTexts+i]
	}
	return sum, adds
}

// Probabilities returns the probability that two texts are near-duplicates, by these texts alone and by
// everything. bias is added to the logarithm of the odds.
func Probabilities(v *evidence.Vector, bias float64) (texts, all float64) {
	y, _ := LogOdds(v)
	all = probability(y + bias)
	if v.Records {
		return all, all
	}
	x, _ := byTexts.logOdds(v)
	return probability(x + bias), all
}

// LogOdds returns the logarithm of the odds by everything, and what each quantity adds to it, in the order of
// [evidence.Names]. It has no bias.
func LogOdds(v *evidence.Vector) (sum float64, adds [len(evidence.Names)]float64) {
	if v.Records {
		return byRecords.logOdds(v)
	}
	return byAll.logOdds(v)
}

// probability returns the probability of log odds.
func probability(x float64) float64 {
	if x < 0 {
		e := exact.Exp(x)
		return e / (1 + e)
	}
	return 1 / (1 + exact.Exp(-x))
}
