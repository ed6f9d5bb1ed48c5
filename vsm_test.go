package neardup

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/neardup/neardup/internal/cosine"
	"github.com/neardup/neardup/internal/exact"
)

// vectorCases are collections of vectors, with what is awkward in them.
func vectorCases(t *testing.T) map[string][]Vector {
	rnd := rand.New(rand.NewPCG(1, 2))
	cases := map[string][]Vector{"none": nil, "one": {NewVector([]Term{{Feature: 1, Weight: 1}})}}
	random := func(n, vocabulary, length int, weight func() float32) (vs []Vector) {
		zipf := rand.NewZipf(rnd, 1.1, 1, uint64(vocabulary))
		for i := range n {
			var terms []Term
			if i > 2 && i%3 == 0 { // a changed copy
				terms = append(terms, vs[rnd.IntN(i)]...)
				for range len(terms) / 8 {
					terms[rnd.IntN(len(terms))].Feature = zipf.Uint64() + 1
				}
			} else {
				for range rnd.IntN(length) {
					terms = append(terms, Term{Feature: zipf.Uint64() + 1, Weight: weight()})
				}
			}
			vs = append(vs, NewVector(terms))
		}
		return vs
	}
	cases["ones"] = random(600, 500, 30, func() float32 { return 1 }) // ties
	cases["uniform"] = random(600, 5000, 60, rnd.Float32)
	cases["long"] = random(150, 3000, 2000, rnd.Float32)
	cases["signs"] = random(600, 300, 30, func() float32 { return rnd.Float32() - 0.3 })
	cases["huge"] = random(600, 300, 30, func() float32 { return float32(math.Exp(rnd.NormFloat64() * 20)) })
	cases["extreme"] = random(300, 100, 10, func() float32 {
		return []float32{math.MaxFloat32, math.SmallestNonzeroFloat32, 1, -math.MaxFloat32}[rnd.IntN(4)]
	})
	cases["one term"] = random(400, 20, 2, rnd.Float32) // half of them have none
	cases["equal"] = slices.Repeat([]Vector{NewVector([]Term{{Feature: 7, Weight: 1}, {Feature: 8, Weight: 2}}), nil}, 60)
	f := Fingerprinter{Tokenizer: Shingles{N: 1}, Weight: LogCount}
	for _, lang := range []string{"en", "zh"} {
		for _, d := range corpus(t, lang) {
			cases[lang] = append(cases[lang], f.Vector(Text(d.Text)))
		}
	}
	return cases
}

func TestVectorPairs(t *testing.T) {
	t.Parallel()
	thresholds := []float64{1e-9, 0.56, 1, 0.1, 0.3, 0.5, 0.8, 0.9, 1.5}
	for name, vs := range vectorCases(t) {
		for _, least := range thresholds[:shorter(len(thresholds), 3)] {
			var want []Pair[int]
			for j := range vs {
				for i := range j {
					if c := vs[i].Cosine(vs[j]); c >= least {
						want = append(want, Pair[int]{A: i, B: j, Similarity: c})
					}
				}
			}
			got := listed(VectorPairs(bg, vs, least))
			if !slices.Equal(got, want) {
				t.Errorf("%s, at least %g: %d pairs, not %d", name, least, len(got), len(want))
			}
			for range VectorPairs(bg, vs, least) { // it can be left
				break
			}
		}
	}
	for _, least := range []float64{0, -1, math.NaN()} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("least %g is accepted", least)
				}
			}()
			VectorPairs(bg, nil, least)
		}()
	}
}

// zipfVectors are n documents of so many words, 1 % of them copies of which 5 % of the words
// were changed, as tokens and as vectors by log-idf.
func zipfDocuments(n, words int) [][]uint32 {
	rnd := rand.New(rand.NewPCG(7, 7))
	weights := make([]float64, 50_000)
	sum := 0.0
	for i := range weights {
		sum += math.Pow(float64(i+1), -1.07)
		weights[i] = sum
	}
	word := func() uint32 {
		i, _ := slices.BinarySearch(weights, rnd.Float64()*sum)
		return uint32(min(i, len(weights)-1))
	}
	docs := make([][]uint32, n)
	for i := range docs {
		docs[i] = make([]uint32, words)
		if i > 0 && rnd.IntN(100) == 0 {
			copy(docs[i], docs[rnd.IntN(i)])
			for range words / 20 {
				docs[i][rnd.IntN(words)] = word()
			}
			continue
		}
		for j := range docs[i] {
			docs[i][j] = word()
		}
	}
	return docs
}

func zipfTexts(n, words int) []string {
	texts := make([]string, n)
	for i, doc := range zipfDocuments(n, words) {
		var b []byte
		for _, w := range doc {
			b = fmt.Appendf(b, "w%d ", w)
		}
		texts[i] = string(b)
	}
	return texts
}

// zipfVectors returns the vectors of such documents by log-idf.
func zipfVectors(n, words int) []Vector {
	texts := zipfTexts(n, words)
	b := DocumentFrequenciesBuilder{Fingerprinter: Fingerprinter{Tokenizer: Words{}}}
	for _, text := range texts {
		b.Add(Text(text))
	}
	f := b.Fingerprinter
	f.Weight = Product{LogCount, IDF{b.Build(), true}}
	vs := make([]Vector, n)
	for i, text := range texts {
		vs[i] = f.Vector(Text(text))
	}
	return vs
}

func BenchmarkVectorPairs(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		if n > 10_000 && os.Getenv("NEARDUP_LARGE") == "" {
			continue
		}
		vs := zipfVectors(n, 200)
		for _, least := range []float64{0.5, 0.8} {
			b.Run(fmt.Sprintf("n=%d/cosine=%g", n, least), func(b *testing.B) {
				pairs := 0
				for b.Loop() {
					pairs = 0
					for range VectorPairs(bg, vs, least) {
						pairs++
					}
				}
				b.ReportMetric(float64(pairs), "pairs")
			})
		}
	}
}

// FuzzVectorPairs compares the join and the index with all comparisons, for vectors of few
// features: a byte is the feature and the next one its weight, 0 ends a vector.
func FuzzVectorPairs(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1, 2, 0, 0, 5, 200}, uint8(128))
	f.Add([]byte{1, 1, 0, 1, 1, 0, 1, 1, 0, 1, 129, 2, 3}, uint8(10))
	f.Fuzz(func(t *testing.T, data []byte, at uint8) {
		vs := []Vector{nil}
		var terms []Term
		for i := 0; i < len(data); i++ {
			if data[i] == 0 || i+1 == len(data) {
				vs, terms = append(vs, NewVector(terms)), nil
				continue
			}
			// Features spread over the hashes, weights of both signs.
			terms = append(terms, Term{Feature: exact.SplitMix(uint64(data[i])), Weight: float32(int8(data[i+1]))})
			i++
		}
		if len(vs) > 200 {
			return
		}
		least := (float64(at) + 1) / 256
		var want []Pair[int]
		for j := range vs {
			for i := range j {
				if c := vs[i].Cosine(vs[j]); c >= least {
					want = append(want, Pair[int]{A: i, B: j, Similarity: c})
				}
			}
		}
		if got := listed(VectorPairs(bg, vs, least)); !slices.Equal(got, want) {
			t.Fatalf("%v at %g: %v, not %v", vs, least, got, want)
		}
		ix := newVectors[int]()
		ix.AddAll(bg, slices.All(vs[:len(vs)/2]))
		for i, v := range vs[len(vs)/2:] {
			ix.Add(len(vs)/2+i, v)
		}
		var ids []int
		for i := range vs {
			ids = append(ids, i)
		}
		for _, q := range vs {
			all := nearestVectors(ids, vs, q, least)
			if got := must(ix.search(bg, q, least, 0, nil)); !slices.Equal(got, all) {
				t.Fatalf("%v in %v at %g: %v, not %v", q, vs, least, got, all)
			}
			all = nearestVectors(ids, vs, q, 0)
			if got := must(ix.Nearest(bg, q, 3)); !slices.Equal(got, all[:min(3, len(all))]) {
				t.Fatalf("nearest to %v in %v: %v, not %v", q, vs, got, all)
			}
		}
	})
}

// TestLeaveCancelled: a loop that ends its context and then leaves is not called again.
func TestLeaveCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	v := VectorOf(map[string]float64{"a": 1})
	for range VectorPairs(ctx, []Vector{v, v, v}, 0.5) {
		cancel()
		break
	}
}

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
	var b DocumentFrequenciesBuilder
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
