package neardup

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/neardup/neardup/internal/minhash"
)

func TestBanding(t *testing.T) {
	t.Parallel()
	if got, want := (Banding{32, 4}).String(), "32 bands of 4 rows: 0.1 0.003, 0.2 0.050, 0.3 0.229, 0.4 0.564, 0.5 0.873, 0.6 0.988, 0.7 1.000, 0.8 1.000, 0.9 1.000"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for _, b := range []Banding{{1, 1}, {32, 4}, {5, 25}, {64, 2}} {
		for _, s := range []float64{0, 0.1, 0.5, 0.9, 1} {
			if got, want := b.Probability(s), 1-math.Pow(1-math.Pow(s, float64(b.Rows)), float64(b.Bands)); math.Abs(got-want) > 1e-12 {
				t.Errorf("%v at %g: %g, want %g", b, s, got, want)
			}
		}
	}
	for _, test := range []struct {
		values            int
		similarity, price float64
		want              Banding
	}{
		{128, 0.5, 1, Banding{25, 5}}, {128, 0.5, 0.1, Banding{32, 4}}, {128, 0.8, 0.1, Banding{14, 9}}, {1, 0.5, 1, Banding{1, 1}}, {128, 1, 1, Banding{1, 128}},
	} {
		if got := Banding(minhash.BestBanding(test.values, test.similarity, test.price)); got != test.want {
			t.Errorf("%+v: %v", test, got)
		}
	}
	// No other loses less.
	for _, values := range []int{16, 50, shorter(128, 60)} {
		for _, similarity := range []float64{0.2, 0.3, 0.5, 0.77, 0.9} {
			for _, price := range []float64{0.03, 0.1, 1, 5} {
				loss := func(b Banding) float64 {
					const steps = 2000
					sum := 0.0
					for i := range steps {
						s := (float64(i) + 0.5) / steps
						if p := b.Probability(s); s < similarity {
							sum += price * p / steps
						} else {
							sum += (1 - p) / steps
						}
					}
					return sum
				}
				got := Banding(minhash.BestBanding(values, similarity, price))
				for rows := 1; rows <= values; rows++ {
					for bands := 1; bands <= values/rows; bands++ {
						if loss(Banding{bands, rows}) < loss(got)-1e-4 {
							t.Fatalf("%d values, %g, %g: %v loses %g, %v loses %g", values, similarity, price, got, loss(got), Banding{bands, rows}, loss(Banding{bands, rows}))
						}
					}
				}
			}
		}
	}
	// The S-curve is what happens.
	for _, o := range []SignatureIndexOptions{{}, {Values: 64, Bits: 8}} {
		for _, j := range []float64{0.3, 0.5, 0.7} {
			ix, err := NewSignatureIndex[int](0.5, o)
			if err != nil {
				t.Fatal(err)
			}
			found, all := 0, 400
			for seed := range all {
				rnd := rand.New(rand.NewPCG(uint64(seed), 3))
				a, b := twoSets(1000, j, rnd)
				m := MinHash{Values: o.Values}
				ix.Add(0, m.Sign(a))
				for range ix.Candidates(bg, m.Sign(b)) {
					found++
				}
			}
			p := ix.Banding().Probability(j)
			if got := float64(found) / float64(all); math.Abs(got-p) > 4*math.Sqrt(p*(1-p)/float64(all))+0.01 {
				t.Errorf("%v: %.3f of the pairs of %.1f are candidates", ix.Banding(), got, j)
			}
		}
	}
}
