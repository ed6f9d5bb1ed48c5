package main

import (
	"math"

	"github.com/neardup/neardup/lab/planted"
)

// This file draws labels of pairs as a user would give them, and says what they change. dedup.Deduplicator.Calibrate does
// the same with a bias that is added to all log odds.
//
// A function that knows nothing of a set is as often too bold there as too timid. Labels show which of the two, but twenty
// are few, and those that a user gives are no sample of all pairs: half of them are hard cases. So the prior decides how
// much they may do, and the question is how wide it may be before labels do harm.

const (
	draws  = 50
	labels = 20 // in a draw: half of pairs in doubt, half of those that are reported
)

// deviations are the standard deviations of the bias that are tried.
var deviations = []float64{0.2, 0.35, 0.5, 0.7, 1}

// bias is biasOf of package dedup with any deviation, which is a constant there. It returns the most likely bias of pairs with these log odds. Its prior is a normal distribution around 0.
func bias(odds []float64, is []bool, deviation float64) (bias float64) {
	for range 50 {
		slope, curvature := -bias/(deviation*deviation), 1/(deviation*deviation)
		for i, z := range odds {
			p := sigmoid(z + bias)
			if is[i] {
				slope += 1 - p
			} else {
				slope -= p
			}
			curvature += p * (1 - p)
		}
		step := slope / curvature
		bias += min(max(step, -1), 1)
		if math.Abs(step) < 1e-9 {
			break
		}
	}
	return bias
}

// A labelling is what labels of a set change.
type labelling struct {
	without float64   // F1 without labels
	change  []float64 // mean change of F1, by deviation
	worst   []float64 // the worst change of F1 in a draw
}

// label draws labels of a set, and measures.
func (e *evidence) label(m model) (l labelling) {
	odds := make([]float64, len(e.pairs))
	var doubt, reported []int
	for i := range e.pairs {
		odds[i] = m.logOdds(&e.pairs[i].x)
		if p := sigmoid(odds[i]); p > 0.05 && p < 0.95 {
			doubt = append(doubt, i)
		}
		if odds[i] >= 0 {
			reported = append(reported, i)
		}
	}
	l = labelling{e.count(m, 0).f1(), make([]float64, len(deviations)), make([]float64, len(deviations))}
	random := planted.Stream(1) // the same draws for all deviations
	for range draws {
		z, is := e.labels(&random, odds, doubt, reported)
		for k, d := range deviations {
			change := e.count(m, -bias(z, is, d)).f1() - l.without
			l.change[k] += change / draws
			l.worst[k] = min(l.worst[k], change)
		}
	}
	return l
}

// labels draws pairs, half from each list, none twice. A short list gives what it has.
func (e *evidence) labels(random *planted.Stream, odds []float64, lists ...[]int) (z []float64, is []bool) {
	drawn := map[int]bool{}
	for _, list := range lists {
		shuffle(random, list)
		n := 0
		for _, i := range list {
			if n == labels/len(lists) {
				break
			}
			if !drawn[i] {
				drawn[i] = true
				n++
				z, is = append(z, odds[i]), append(is, e.pairs[i].is())
			}
		}
	}
	return z, is
}
