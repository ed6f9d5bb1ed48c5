package main

import (
	"math"
)

// This file fits logistic functions by Newton's method. There are millions of pairs and at most 14 numbers, so the time is
// that of reading the pairs some eight times, and no library is needed. The cost is convex, so there is one best model, and
// the search finds it from anywhere.

// A model is a logistic function of the evidence.
type model struct {
	intercept float64
	of        vector // coefficients; 0 for quantities that are not used
}

// logOdds returns the logarithm of the odds.
func (m *model) logOdds(x *vector) float64 {
	z := m.intercept
	for k, v := range x {
		z += m.of[k] * v
	}
	return z
}

// rounded returns the model as it is written, with four decimals.
func (m model) rounded() model {
	round := func(x float64) float64 { return math.Round(x*1e4)/1e4 + 0 } // + 0 makes −0 to 0
	m.intercept = round(m.intercept)
	for k := range m.of {
		m.of[k] = round(m.of[k])
	}
	return m
}

// sigmoid returns the probability of log odds.
func sigmoid(z float64) float64 { return 1 / (1 + math.Exp(-z)) }

// softplus returns ln(1+eᶻ), which is what a pair that is no near-duplicate costs.
func softplus(z float64) float64 { return max(z, 0) + math.Log1p(math.Exp(-math.Abs(z))) }

// A part is pairs that have the same weights in a fit.
type part struct {
	pairs              []pair
	positive, negative float64 // the weight of a near-duplicate, and of another pair
}

// weight returns the weight of a pair, and 1 for a near-duplicate, 0 otherwise.
func (p *part) weight(q *pair) (w, y float64) {
	if q.is() {
		return p.positive, 1
	}
	return p.negative, 0
}

// A fitting is a problem: the model of some quantities that minimises
//
//	½ Σ (sₖ·mₖ)² + C·Σ w·(−ln of the probability of what is true)
//
// where sₖ is the standard deviation of quantity k. It is the same as fitting standardised quantities with an L2 penalty and
// a free intercept.
type fitting struct {
	parts []part
	use   []int // the quantities, by their numbers
	c     float64
	scale []float64 // the squares of the standard deviations, by position in use; 0 for the intercept, which is last
}

// solve returns the best model. It begins at another one, which makes it fast if that one is close.
func (f *fitting) solve(from model) model {
	f.spread()
	at := make([]float64, len(f.use)+1)
	for i, k := range f.use {
		at[i] = from.of[k]
	}
	at[len(f.use)] = from.intercept
	now := f.slopes(at)
	for range 50 {
		step := cholesky(now.curvature, now.gradient)
		next := make([]float64, len(at))
		var then slopes
		// Far from the best model a whole step may go too far, so it is halved until it gains something.
		for length := 1.0; ; length /= 2 {
			for i := range at {
				next[i] = at[i] - length*step[i]
			}
			if then = f.slopes(next); then.cost <= now.cost || length < 1e-4 {
				break
			}
		}
		done := now.cost-then.cost <= 1e-9*now.cost
		if then.cost < now.cost {
			at, now = next, then
		}
		if done {
			break
		}
	}
	return f.model(at)
}

// model returns the model of the numbers that are fitted.
func (f *fitting) model(at []float64) (m model) {
	for i, k := range f.use {
		m.of[k] = at[i]
	}
	m.intercept = at[len(f.use)]
	return m
}

// spread sets the standard deviations. Pairs count by their weights: otherwise the one set with most of the pairs that are
// no near-duplicates, en-reuters, would say how large all numbers may be.
func (f *fitting) spread() {
	f.scale = make([]float64, len(f.use)+1)
	for i, k := range f.use {
		var all, sum, squares float64
		for p := range f.parts {
			for q := range f.parts[p].pairs {
				pair := &f.parts[p].pairs[q]
				w, _ := f.parts[p].weight(pair)
				all, sum, squares = all+w, sum+w*pair.x[k], squares+w*pair.x[k]*pair.x[k]
			}
		}
		mean := sum / all
		f.scale[i] = max(squares/all-mean*mean, 0) + 1e-9 // so that a constant has a coefficient too
	}
}

// slopes are the value and the derivatives of what is minimised.
type slopes struct {
	cost      float64
	gradient  []float64
	curvature [][]float64 // the lower half
}

// slopes computes them at a point.
func (f *fitting) slopes(at []float64) (s slopes) {
	n := len(at)
	s.gradient, s.curvature = make([]float64, n), make([][]float64, n)
	for i := range n {
		s.curvature[i] = make([]float64, i+1)
	}
	m := f.model(at)
	x := make([]float64, n)
	x[n-1] = 1
	for p := range f.parts {
		part := &f.parts[p]
		for q := range part.pairs {
			pair := &part.pairs[q]
			w, y := part.weight(pair)
			z := m.logOdds(&pair.x)
			s.cost += w * (softplus(z) - y*z)
			for i, k := range f.use {
				x[i] = pair.x[k]
			}
			probability := sigmoid(z)
			s.add(x, w*(probability-y), w*probability*(1-probability))
		}
	}
	s.penalise(at, f.scale, f.c)
	return s
}

// add adds a pair.
func (s *slopes) add(x []float64, slope, curvature float64) {
	for i, v := range x {
		s.gradient[i] += slope * v
		row, c := s.curvature[i], curvature*v
		for j := range row {
			row[j] += c * x[j]
		}
	}
}

// penalise multiplies by c, and adds the penalty. A little curvature is added everywhere, for pairs that a line can part.
func (s *slopes) penalise(at, scale []float64, c float64) {
	s.cost *= c
	for i, v := range at {
		s.cost += scale[i] * v * v / 2
		s.gradient[i] = c*s.gradient[i] + scale[i]*v
		for j := range s.curvature[i] {
			s.curvature[i][j] *= c
		}
		s.curvature[i][i] += scale[i] + 1e-9
	}
}

// cholesky solves a·x = b for a symmetric positive definite matrix, of which it has the lower half.
func cholesky(a [][]float64, b []float64) (x []float64) {
	n := len(b)
	l := make([][]float64, n)
	x = make([]float64, n)
	for i := range n {
		l[i] = make([]float64, i+1)
		for j := range i + 1 {
			sum := a[i][j]
			for k := range j {
				sum -= l[i][k] * l[j][k]
			}
			if i == j {
				l[i][i] = math.Sqrt(max(sum, 1e-300))
			} else {
				l[i][j] = sum / l[j][j]
			}
		}
		sum := b[i]
		for k := range i {
			sum -= l[i][k] * x[k]
		}
		x[i] = sum / l[i][i]
	}
	for i := n - 1; i >= 0; i-- {
		for k := i + 1; k < n; k++ {
			x[i] -= l[k][i] * x[k]
		}
		x[i] /= l[i][i]
	}
	return x
}
