package main

import (
	"math"
	"strings"
	"testing"

	"github.com/neardup/neardup/lab/dataset"
	"github.com/neardup/neardup/lab/planted"
)

// byFirst is a model whose log odds are the first quantity.
var byFirst = model{of: vector{0: 1}}

// toy is a collection of which everything is known: five near-duplicates, one of them equal and one not compared.
func toy() *evidence {
	truth := dataset.Truth{}
	for i := range 5 {
		truth.Add(2*i, 2*i+1)
	}
	at := func(n, hits int32, z float64) pair { return pair{n: n, hits: hits, x: vector{0: z}} }
	return &evidence{
		collection: &collection{name: "toy", truth: truth, texts: make([]string, 10)},
		equal:      []pair{{n: 1, hits: 1}},
		pairs:      []pair{at(1, 1, 2), at(2, 1, 1), at(3, 0, -1), at(1, 1, -1)},
	}
}

func TestCount(t *testing.T) {
	e := toy()
	if c := e.count(byFirst, 0); c != (count{found: 4, hits: 3, truths: 5}) || c.precision() != 0.75 || c.recall() != 0.6 || math.Abs(c.f1()-6./9) > 1e-15 {
		t.Errorf("%+v", c)
	}
	if c := e.count(byFirst, 5); c != (count{found: 1, hits: 1, truths: 5}) {
		t.Errorf("%+v", c)
	}
	if (count{}).f1() != 0 || (count{}).precision() != 1 || (count{}).recall() != 1 {
		t.Error("nothing found")
	}
}

// TestBest compares with all thresholds. Pairs with equal log odds are found together.
func TestBest(t *testing.T) {
	random := planted.Stream(1)
	for range 100 {
		e := toy()
		for i := range e.pairs {
			e.pairs[i].x[0] = float64(below(&random, 4))
		}
		want := 0.0
		for threshold := range 5 {
			want = max(want, e.count(byFirst, float64(threshold)).f1())
		}
		if got := e.best(byFirst); got != want {
			t.Fatalf("%g, want %g", got, want)
		}
	}
}

// TestStep checks that a second step finds how log odds were distorted, and that right ones have no error.
func TestStep(t *testing.T) {
	random := planted.Stream(4)
	var o outcomes
	for range 50_000 {
		z := 8*uniform(&random) - 4
		is := 0.0
		if uniform(&random) < sigmoid(z) {
			is = 1
		}
		o.odds, o.is, o.weight = append(o.odds, 2*z-1), append(o.is, is), append(o.weight, 1)
	}
	s := o.step()
	if math.Abs(s.slope-0.5) > 0.02 || math.Abs(s.intercept-0.5) > 0.03 || math.Abs(s.threshold()+1) > 0.06 {
		t.Errorf("%+v", s)
	}
	if e := expectedError(o.bins(s)); e > 0.01 {
		t.Errorf("error %g with the step", e)
	}
	if e := expectedError(o.bins(none)); e < 0.05 || o.logLoss(none) <= o.logLoss(s) {
		t.Errorf("error %g without", e)
	}
	x, moved := vector{0: 3}, byFirst.then(s)
	if got, want := moved.logOdds(&x), s.apply(3); math.Abs(got-want) > 1e-12 {
		t.Errorf("%g, want %g", got, want)
	}
}

// TestBias checks that labels move the bias in their direction, not beyond what they say, and less with a narrower prior.
func TestBias(t *testing.T) {
	odds, is := make([]float64, 20), make([]bool, 20)
	for i := range is {
		is[i] = i%4 != 0 // 15 of 20, where one half is expected
	}
	before := 0.0
	for _, d := range deviations {
		b := bias(odds, is, d)
		if b <= before || b >= math.Log(3) {
			t.Errorf("deviation %g: %g after %g", d, b, before)
		}
		// The most likely bias is where the labels and the prior pull alike.
		if pull := 15 - 20*sigmoid(b) - b/(d*d); math.Abs(pull) > 1e-6 {
			t.Errorf("deviation %g: pull %g", d, pull)
		}
		before = b
	}
	if bias(nil, nil, 1) != 0 {
		t.Error("a bias without labels")
	}
}

// TestDraws checks that no pair is drawn twice, and that short lists do not hang.
func TestDraws(t *testing.T) {
	e := toy()
	odds := []float64{2, 1, -1, -1}
	random := planted.Stream(2)
	z, is := e.labels(&random, odds, []int{0, 1}, []int{0, 1, 2})
	if len(z) != 3 || len(is) != 3 {
		t.Errorf("%v", z)
	}
	if l := e.label(byFirst); l.without != e.count(byFirst, 0).f1() || len(l.change) != len(deviations) {
		t.Errorf("%+v", l)
	}
}

func TestSource(t *testing.T) {
	f := functions{all: model{intercept: 1.5, of: vector{0: 2, 12: -0.25}}, texts: model{intercept: -1, of: vector{1: 3}}}
	path := t.TempDir() + "/fitted.go"
	if err := write(path, f); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"intercept: 1.5,", "evidence.Characters: 2,", "evidence.LocalRuns: -0.25", "evidence.Words: 3,", "DO NOT EDIT"} {
		if !strings.Contains(source(f), line) {
			t.Errorf("no %q in\n%s", line, source(f))
		}
	}
	if strings.Contains(source(f), "Crowd") {
		t.Error("a quantity that is not used")
	}
}
