package decision

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/neardup/neardup/dedup/internal/evidence"
)

// TestProbabilities: they are in [0, 1] whatever the evidence, they grow with the bias, and the parts of the log odds add up.
func TestProbabilities(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	for range 5000 {
		var v evidence.Vector
		for i := range v.Texts {
			v.Texts[i] = rnd.NormFloat64() * math.Pow(10, float64(rnd.IntN(5)))
		}
		for i := range v.Places {
			v.Places[i] = rnd.NormFloat64() * math.Pow(10, float64(rnd.IntN(5)))
		}
		last := [2]float64{}
		for _, bias := range []float64{-20, -1, 0, 1, 20} {
			texts, all := Probabilities(&v, bias)
			for i, p := range []float64{texts, all} {
				if !(p >= 0 && p <= 1) || p < last[i] {
					t.Fatalf("%+v with a bias of %g: %g, and before %g", v, bias, p, last[i])
				}
				last[i] = p
			}
		}
		sum, adds := LogOdds(&v)
		for _, x := range adds {
			sum -= x
		}
		var zero evidence.Vector
		if constant, _ := LogOdds(&zero); math.Abs(sum-constant) > 1e-6*(1+math.Abs(constant))*1e4 {
			t.Fatalf("the parts leave %g, not %g", sum, constant)
		}
		if _, all := Probabilities(&v, 0); math.Abs(all-probability(func() float64 { x, _ := LogOdds(&v); return x }())) > 1e-12 {
			t.Fatalf("%g", all)
		}
	}
}
