package main

import (
	"math"
	"slices"
	"testing"

	"github.com/neardup/neardup/lab/planted"
)

// uniform returns a random number from 0 to 1.
func uniform(random *planted.Stream) float64 { return float64(random.Next()>>11) / (1 << 53) }

// sampled returns pairs whose labels are drawn from a model.
func sampled(m model, n int) (pairs []pair) {
	random := planted.Stream(9)
	for range n {
		p := pair{n: 1}
		for k := range p.x {
			p.x[k] = float64(k+1) * (uniform(&random)*2 - 1) // of different scales
		}
		if uniform(&random) < sigmoid(m.logOdds(&p.x)) {
			p.hits = 1
		}
		pairs = append(pairs, p)
	}
	return pairs
}

// TestRecovers checks that a fit finds the numbers from which the labels were drawn, from any beginning, and that
// quantities that are not used stay 0.
func TestRecovers(t *testing.T) {
	want := model{intercept: -0.5}
	want.of[0], want.of[2], want.of[5] = 1.5, -0.7, 0.3
	f := fitting{parts: []part{{sampled(want, 40_000), 1, 1}}, use: []int{0, 2, 4, 5}, c: 10}
	got := f.solve(model{})
	for k := range want.of {
		if math.Abs(got.of[k]-want.of[k]) > 0.06 {
			t.Errorf("quantity %d has %.3f, want %.3f", k, got.of[k], want.of[k])
		}
	}
	if math.Abs(got.intercept-want.intercept) > 0.06 || got.of[1] != 0 {
		t.Errorf("%+v", got)
	}
	again := f.solve(model{intercept: 3, of: vector{0: -2, 5: 4}})
	for k := range got.of {
		if math.Abs(again.of[k]-got.of[k]) > 1e-5 {
			t.Errorf("from another beginning, quantity %d has %g instead of %g", k, again.of[k], got.of[k])
		}
	}
}

// TestSlopes compares the derivatives with differences.
func TestSlopes(t *testing.T) {
	pairs := sampled(model{intercept: 0.2, of: vector{1, -1}}, 200)
	f := fitting{parts: []part{{pairs[:50], 3, 0.5}, {pairs[50:], 1, 2}}, use: []int{0, 1, 3}, c: 0.7}
	f.spread()
	at := []float64{0.3, -0.2, 0.1, 0.4}
	s := f.slopes(at)
	const h = 1e-5
	for i := range at {
		moved := func(by float64) slopes {
			a := slices.Clone(at)
			a[i] += by
			return f.slopes(a)
		}
		up, down := moved(h), moved(-h)
		if d := (up.cost - down.cost) / (2 * h); math.Abs(d-s.gradient[i]) > 1e-5*max(1, math.Abs(d)) {
			t.Errorf("slope %d is %g, want %g", i, s.gradient[i], d)
		}
		for j := range i + 1 {
			if d := (up.gradient[j] - down.gradient[j]) / (2 * h); math.Abs(d-s.curvature[i][j]) > 1e-4*max(1, math.Abs(d)) {
				t.Errorf("curvature %d, %d is %g, want %g", i, j, s.curvature[i][j], d)
			}
		}
	}
}

// TestWeights checks that a weight of 3 is the same as three equal pairs.
func TestWeights(t *testing.T) {
	pairs := sampled(model{of: vector{1, 1}}, 300)
	weighted := fitting{parts: []part{{pairs, 3, 3}}, use: []int{0, 1}, c: 1}
	repeated := fitting{parts: []part{{pairs, 1, 1}, {pairs, 1, 1}, {pairs, 1, 1}}, use: []int{0, 1}, c: 1}
	x, y := weighted.solve(model{}), repeated.solve(model{})
	if math.Abs(x.of[0]-y.of[0]) > 1e-7 || math.Abs(x.intercept-y.intercept) > 1e-7 {
		t.Errorf("%v and %v", x, y)
	}
}

// TestSeparable checks that pairs that a line can part have finite numbers, smaller ones with a stronger penalty, and that
// a quantity that is constant changes nothing.
func TestSeparable(t *testing.T) {
	var pairs []pair
	for i := range 20 {
		p := pair{n: 1, x: vector{0: float64(i), 1: 7}}
		if i >= 10 {
			p.hits = 1
		}
		pairs = append(pairs, p)
	}
	before := math.Inf(1)
	for _, c := range []float64{100, 1, 0.01} {
		f := fitting{parts: []part{{pairs, 1, 1}}, use: []int{0, 1}, c: c}
		m := f.solve(model{})
		if !(m.of[0] > 0 && m.of[0] < before) {
			t.Errorf("C %g: %v after %g", c, m, before)
		}
		before = m.of[0]
		if z := m.logOdds(&vector{0: 9.5, 1: 7}); math.Abs(z) > 0.02 {
			t.Errorf("C %g: log odds %g in the middle", c, z)
		}
	}
}

func TestCholesky(t *testing.T) {
	// [4 2 0; 2 5 1; 0 1 3]·[1 −2 3] = [0 −5 7]
	x := cholesky([][]float64{{4}, {2, 5}, {0, 1, 3}}, []float64{0, -5, 7})
	for i, want := range []float64{1, -2, 3} {
		if math.Abs(x[i]-want) > 1e-12 {
			t.Errorf("%v", x)
		}
	}
}

func TestRounded(t *testing.T) {
	m := model{intercept: 1.23456, of: vector{0: -0.00001, 1: -2.00005001}}.rounded()
	if m.intercept != 1.2346 || math.Signbit(m.of[0]) || m.of[0] != 0 || m.of[1] != -2.0001 {
		t.Errorf("%v", m)
	}
	for _, z := range []float64{-800, -3, 0, 3, 800} {
		if got := softplus(z); math.IsNaN(got) || got < max(z, 0) || math.Abs(got-softplus(-z)-z) > 1e-12*max(1, math.Abs(z)) {
			t.Errorf("softplus(%g) is %g", z, got)
		}
	}
}
