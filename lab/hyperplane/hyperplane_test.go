package hyperplane

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/neardup/neardup"
)

// planes makes planes from the hashes of features. The papers write hashes with the bit of the
// first plane on the left.
func planes(hashes ...string) (Planes, []neardup.Fingerprint128) {
	var fps []neardup.Fingerprint128
	for _, h := range hashes {
		fp := neardup.Fingerprint128{}
		for i, c := range h {
			fp.Lo |= uint64(c-'0') << i
		}
		fps = append(fps, fp)
	}
	return OfHashes(fps, len(hashes[0])), fps
}

// TestExamples checks the examples of Wang 2016 §3.2 and of june 2013. In Wang 2016 the sign of the
// fourth product is wrong.
func TestExamples(t *testing.T) {
	for _, test := range []struct {
		hashes   []string
		vector   []float64
		planes   string
		products string
		sum      uint64 // the bit of the first plane is the lowest
	}{
		{[]string{"1010", "1100", "1110", "1000", "0001"}, []float64{1, 1, 1, 1, 1},
			"[[1 1 1 1 -1] [-1 1 1 -1 -1] [1 -1 1 -1 -1] [-1 -1 -1 -1 1]]", "[3 -1 -1 -3]", 0b0001},
		{[]string{"101", "011", "100", "001", "110"}, []float64{1, 2, 0, 3, 0},
			"[[1 -1 1 -1 1] [-1 1 -1 -1 1] [1 1 -1 1 -1]]", "[-4 -2 6]", 0b100},
	} {
		p, fps := planes(test.hashes...)
		if got := fmt.Sprint([][]float64(p)); got != test.planes {
			t.Errorf("planes %s, want %s", got, test.planes)
		}
		if got := fmt.Sprint(p.Products(test.vector)); got != test.products {
			t.Errorf("products %s, want %s", got, test.products)
		}
		a := neardup.Accumulator64{}
		for d, fp := range fps {
			a.Add(fp.Lo, int64(test.vector[d]))
		}
		for _, tie := range []bool{false, true} {
			mask := neardup.Fingerprint64(1<<len(p) - 1)
			if got := p.Sum(test.vector, tie).Lo; got != test.sum || sumOf(&a, tie)&mask != neardup.Fingerprint64(test.sum) {
				t.Errorf("sum %b, SimHash %b, want %b", got, sumOf(&a, tie)&mask, test.sum)
			}
		}
	}
}

// TestEquivalence checks that SimHash is the hash by the planes of its features' hashes, also for
// ties.
func TestEquivalence(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	ties := 0
	for round := range 300 {
		hashes := make([]neardup.Fingerprint128, 1+r.IntN(40))
		vector := make([]float64, len(hashes))
		a := neardup.Accumulator128{}
		for d := range hashes {
			hashes[d] = neardup.Fingerprint128{Hi: r.Uint64(), Lo: r.Uint64()}
			w := r.IntN(7) - 2
			if vector[d] = float64(w); round%2 == 0 {
				w = 1
				vector[d] = 1
			}
			a.Add(hashes[d].Hi, hashes[d].Lo, int64(w))
		}
		p := OfHashes(hashes, 128)
		for _, tie := range []bool{false, true} {
			if got, want := p.Sum(vector, tie), sumOf(&a, tie); got != want {
				t.Fatalf("%d features, tie %t: %v, SimHash %v", len(hashes), tie, got, want)
			}
		}
		ties += a.SumTiesOne().Distance(a.Sum())
	}
	if ties < 1000 {
		t.Errorf("only %d ties", ties)
	}
}

// TestAngle checks that the fraction of bits that differ is θ/π.
func TestAngle(t *testing.T) {
	const bits, rounds = 128, 200
	for _, cosine := range []float64{0.97, 0.8, 0.5, 0, -0.7} {
		a, b := []float64{1, 0, 0}, []float64{cosine, math.Sqrt(1 - cosine*cosine), 0}
		differ := 0
		for seed := range uint64(rounds) {
			p := Random(bits, 3, seed)
			differ += p.Sum(a, false).Distance(p.Sum(b, false))
		}
		want, got := math.Acos(cosine)/math.Pi, float64(differ)/(bits*rounds)
		if math.Abs(got-want) > 4*math.Sqrt(want*(1-want)/(bits*rounds)) {
			t.Errorf("cosine %g: %f of the bits differ, want %f", cosine, got, want)
		}
	}
	first, again := fmt.Sprint(Random(3, 4, 7)), fmt.Sprint(Random(3, 4, 7))
	if first != again || first == fmt.Sprint(Random(3, 4, 8)) {
		t.Error("seeds")
	}
}

// sumOf returns the fingerprint of an accumulator. tiesOne says whether ties give 1.
func sumOf[F any](a interface {
	Sum() F
	SumTiesOne() F
}, tiesOne bool) F {
	if tiesOne {
		return a.SumTiesOne()
	}
	return a.Sum()
}
