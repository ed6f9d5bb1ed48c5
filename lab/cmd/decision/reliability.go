package main

import (
	"math"

	"github.com/neardup/neardup/lab/figure"
)

// This file says how often the probabilities are right: of the pairs with a probability of about 0.8, are eight of ten
// near-duplicates? The pairs are those of sets that the function has not seen.
//
// The weights of a fit move probabilities: pairs that are no near-duplicates count less in it than there are of them. If
// that did harm, a second step on the log odds would repair it. It would also move the threshold, which is one half for
// everybody. So the report has both, and what each does to F1.

// outcomes are pairs with their log odds, of one set or of several.
type outcomes struct {
	odds, is []float64 // is: which part of the pairs of documents are near-duplicates
	weight   []float64
}

// outcomes returns the pairs of a collection. Together they weigh 1, so a set with many pairs says no more than one with few;
// within a set all pairs that are compared count alike, as a user sees them.
func (e *evidence) outcomes(m model) (o outcomes) {
	for i := range e.pairs {
		p := &e.pairs[i]
		o.odds = append(o.odds, m.logOdds(&p.x))
		o.is = append(o.is, float64(p.hits)/float64(p.n))
		o.weight = append(o.weight, 1/float64(len(e.pairs)))
	}
	return o
}

// add adds those of another set.
func (o *outcomes) add(p outcomes) {
	o.odds, o.is, o.weight = append(o.odds, p.odds...), append(o.is, p.is...), append(o.weight, p.weight...)
}

// A bin is the pairs with probabilities between two tenths.
type bin struct {
	weight    float64
	said, are float64 // the mean probability, and the share that are near-duplicates
}

// bins returns ten bins.
func (o *outcomes) bins(s step) (b [10]bin) {
	for i, z := range o.odds {
		p := sigmoid(s.apply(z))
		k := min(int(p*10), 9)
		b[k].weight += o.weight[i]
		b[k].said += o.weight[i] * p
		b[k].are += o.weight[i] * o.is[i]
	}
	for k := range b {
		if b[k].weight > 0 {
			b[k].said /= b[k].weight
			b[k].are /= b[k].weight
		}
	}
	return b
}

// expectedError returns the expected calibration error: the mean difference between what is said and what is, weighted by
// the bins.
func expectedError(bins [10]bin) (sum float64) {
	all := 0.0
	for _, b := range bins {
		sum += b.weight * math.Abs(b.said-b.are)
		all += b.weight
	}
	return sum / all
}

// A step is a second step: a straight line that moves the log odds.
type step struct{ intercept, slope float64 }

// none leaves the log odds as they are.
var none = step{slope: 1}

func (s step) apply(z float64) float64 { return s.intercept + s.slope*z }

// threshold returns from which log odds on the step gives at least one half.
func (s step) threshold() float64 { return -s.intercept / s.slope }

// then returns the model with the step.
func (m model) then(s step) model {
	for k := range m.of {
		m.of[k] *= s.slope
	}
	m.intercept = s.apply(m.intercept)
	return m
}

// step returns the step with the smallest log loss, by Newton's method (Platt scaling, 1999).
func (o *outcomes) step() step {
	at := []float64{none.intercept, none.slope}
	for range 50 {
		s := slopes{gradient: make([]float64, 2), curvature: [][]float64{make([]float64, 1), make([]float64, 2)}}
		for i, z := range o.odds {
			p := sigmoid(at[0] + at[1]*z)
			s.add([]float64{1, z}, o.weight[i]*(p-o.is[i]), o.weight[i]*p*(1-p))
		}
		move := cholesky(s.curvature, s.gradient)
		for k := range at {
			at[k] -= min(max(move[k], -0.5), 0.5)
		}
		if math.Abs(move[0])+math.Abs(move[1]) < 1e-9 {
			break
		}
	}
	return step{at[0], at[1]}
}

// logLoss returns the mean of −ln of the probability of what is true.
func (o *outcomes) logLoss(s step) (loss float64) {
	all := 0.0
	for i, z := range o.odds {
		z = s.apply(z)
		loss += o.weight[i] * (softplus(z) - o.is[i]*z)
		all += o.weight[i]
	}
	return loss / all
}

// draw draws bins.
func draw(path string, names []string, bins [][10]bin) error {
	plot := figure.New("Probabilities of pairs of sets that were left out of the fit", "probability that is said", "share of near-duplicates")
	plot.Dashed("as it should be", []float64{0, 1}, []float64{0, 1})
	for n, name := range names {
		var x, y []float64
		for _, b := range bins[n] {
			if b.weight > 0 {
				x, y = append(x, b.said), append(y, b.are)
			}
		}
		plot.Line(name, n, x, y)
	}
	return plot.Save(path)
}
