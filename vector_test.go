package neardup

import (
	"math"
	"testing"

	"github.com/neardup/neardup/internal/cosine"
)

func TestVector(t *testing.T) {
	// Wang 2016 §2: (30,20,20,10,0) and (40,0,30,20,10).
	a := NewVector([]Term{{Feature: 4, Weight: 10}, {Feature: 1, Weight: 30}, {Feature: 3, Weight: 20}, {Feature: 2, Weight: 20}, {Feature: 5, Weight: 0}})
	b := NewVector([]Term{{Feature: 1, Weight: 40}, {Feature: 2, Weight: 0}, {Feature: 3, Weight: 30}, {Feature: 4, Weight: 20}, {Feature: 5, Weight: 10}})
	if a.Dot(b) != 2000 || cosine.Square(asTerms(a)) != 1800 || cosine.Square(asTerms(b)) != 3000 || a.Cosine(b) != 0.8606629658238704 || b.Cosine(a) != a.Cosine(b) {
		t.Errorf("dot %v, squares %v and %v, cosine %v", a.Dot(b), cosine.Square(asTerms(a)), cosine.Square(asTerms(b)), a.Cosine(b))
	}
	if n := a.Norm(); math.Abs(n-42.426407) > 1e-6 || len(a) != 4 {
		t.Errorf("norm %v, %d terms", n, len(a))
	}
	var zero Vector
	if zero.Cosine(a) != 0 || zero.Cosine(zero) != 0 || zero.Norm() != 0 {
		t.Error("the vector without terms is like something")
	}
	// Parallel vectors, of whatever length, have the cosine 1 and no more.
	for _, scale := range []float32{1, 3, 1e-20, 1e30} {
		c := Vector{}
		for _, x := range a {
			c = append(c, Term{Feature: x.Feature, Weight: x.Weight * scale})
		}
		if got := a.Cosine(c); math.Abs(got-1) > 1e-7 || got > 1 || c.Cosine(c) != 1 {
			t.Errorf("scaled by %g: cosine %v, with itself %v", scale, got, c.Cosine(c))
		}
	}
	inf := float32(math.Inf(1))
	huge := NewVector([]Term{{Feature: 1, Weight: inf}, {Feature: 1, Weight: inf}, {Feature: 2, Weight: float32(math.NaN())}, {Feature: 0, Weight: -inf}})
	if len(huge) != 1 || huge[0] != (Term{Feature: 1, Weight: math.MaxFloat32}) && huge[0] != (Term{Feature: 1, Weight: 0}) {
		t.Errorf("%v", huge)
	}
}

// A vector has the features and weights of Features.
func TestVectorOfText(t *testing.T) {
	text := "The cat sat on the mat. 小猫坐在垫子上，小猫 sat."
	var b StatisticsBuilder
	b.Add(Text(text))
	b.Add(Text("the dog 小猫"))
	b.Add(Text("something else"))
	s := b.Build()
	for _, w := range []Weight{nil, Constant(1), LogCount, Product{Count, IDF{s, true}}, Product{LogCount, IDF{s, true}}, IDF{s, false},
		Product{Count, tokenWeight(func(t Token) float64 { return float64(len(t.Text)) })}, titleWords{}} {
		f := Fingerprinter{Weight: w}
		var terms []Term
		for feature, weight := range f.Features(Text(text)) {
			terms = append(terms, Term{Feature: featureKey(feature.Text, nil), Weight: float32(weight)})
		}
		want, got := NewVector(terms), f.Vector(Text(text))
		if len(want) < 5 && w != nil && len(want) == 0 || len(got) != len(want) {
			t.Fatalf("%s: %d terms, not %d", weightVersion(w), len(got), len(want))
		}
		for i := range want {
			if want[i] != got[i] {
				t.Errorf("%s: %v, not %v", weightVersion(w), got[i], want[i])
			}
		}
	}
	f := Fingerprinter{Fields: []Field{{Name: "a", Split: Words{}}, {Name: "b", Named: true}}}
	rec := Record{"a": "one two two", "b": "three"}
	var terms []Term
	for feature, weight := range f.Features(rec) {
		terms = append(terms, Term{Feature: featureKey(feature.Text, nil), Weight: float32(weight)})
	}
	if want, got := NewVector(terms), f.Vector(rec); len(got) != 3 || want.Cosine(got) != 1 || want.Dot(got) != 4+16+4 {
		t.Errorf("%v, not %v", got, want)
	}
}
