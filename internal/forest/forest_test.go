package forest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/zeebo/xxh3"
)

// randomSets returns the keys of n sets in so many trees. Many sets share values.
func randomSets(n, trees int) (keys []Key) {
	rnd := rand.New(rand.NewPCG(1, uint64(n)))
	for range n * trees {
		a, b, c := rnd.Uint64N(5), rnd.Uint64N(3), rnd.Uint64N(3)
		keys = append(keys, Key(a<<behindFirst|b<<behindSecond|c))
	}
	return keys
}

// TestCandidates compares with the definition of buckets, for few and many sets.
func TestCandidates(t *testing.T) {
	for _, n := range []int{0, 1, 2, 20, 100, 400} {
		const trees = 4
		keys := randomSets(n, trees)
		for _, inFile := range []bool{false, true} {
			stored := must(NewKeys(trees, n, inFile))
			for from := 0; from < n; from += 64 {
				stored.Set(from, keys[from*trees:min(n, from+64)*trees])
			}
			f := New(stored, func(int) bool { return true })
			if err := stored.Err(); err != nil {
				t.Fatal(err)
			}
			compareCandidates(t, f, keys, n, trees)
			// Of some sets, those that are left have the same candidates as if there were no others.
			some := must(NewKeys(trees, n, false))
			some.Set(0, keys)
			var left []int
			var leftKeys []Key
			for i := range n {
				if i%3 != 1 {
					left, leftKeys = append(left, i), append(leftKeys, keys[i*trees:(i+1)*trees]...)
				}
			}
			part := New(some, func(i int) bool { return i%3 != 1 })
			alone := must(NewKeys(trees, len(left), false))
			alone.Set(0, leftKeys)
			a, b := part.NewSearcher(), New(alone, func(int) bool { return true }).NewSearcher()
			for at, i := range left {
				got, want := slices.Clone(a.Candidates(i, 0, n)), slices.Clone(b.Candidates(at, 0, len(left)))
				for k := range want {
					want[k].Set = uint32(left[want[k].Set])
				}
				if !slices.Equal(got, want) {
					t.Fatalf("set %d of some has %v, not %v", i, got, want)
				}
			}
			if n > 1 && len(a.Candidates(1, 0, n)) > 0 {
				t.Error("a set that is left out has candidates")
			}
		}
	}
}

// must returns x, or panics.
func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

// compareCandidates compares a forest with the definition of buckets.
func compareCandidates(t *testing.T, f *Forest, keys []Key, n, trees int) {
	{
		// The bits behind those by which sets are in one bucket of a tree.
		behind := func(tree, i int) int {
			for _, bits := range []int{behindFirst, behindSecond} {
				size := 0
				for j := range n {
					if keys[i*trees+tree]>>bits == keys[j*trees+tree]>>bits {
						size++
					}
				}
				if size <= small {
					return bits
				}
			}
			return 0
		}
		s := f.NewSearcher()
		for i := range n {
			var want []Candidate
			for j := range n {
				in := uint16(0)
				for tree := range trees {
					if bits := behind(tree, i); keys[i*trees+tree]>>bits == keys[j*trees+tree]>>bits {
						in++
					}
				}
				if in > 0 && i != j {
					want = append(want, Candidate{uint32(j), in})
				}
			}
			candidates := func(from, to int) []Candidate {
				return slices.SortedFunc(slices.Values(s.Candidates(i, from, to)), func(a, b Candidate) int { return int(a.Set) - int(b.Set) })
			}
			if got := candidates(0, n); !slices.Equal(got, want) {
				t.Fatalf("%d sets: set %d has %v, not %v", n, i, got, want)
			}
			before := slices.DeleteFunc(want, func(c Candidate) bool { return int(c.Set) < n/4 || int(c.Set) >= i })
			if got := candidates(n/4, i); !slices.Equal(got, before) {
				t.Fatalf("%d sets: set %d has %v from %d to %d, not %v", n, i, got, n/4, i, before)
			}
		}
	}
}

// sampled returns the keys and the sketch of a set whose features weigh the same.
func sampled(trees int, features []uint64, df func(feature uint64) uint32) ([]Key, Sketch) {
	s, keys := NewSampler(trees, 1<<20), make([]Key, trees)
	s.Reset()
	for _, x := range features {
		s.Add(x, df(x), All)
		s.AddWeighted(x, 1/float64(len(features)))
	}
	s.Keys(keys)
	return keys, s.Sketch()
}

// TestAgreement: two sets agree in a value of the sketch, and in the first value of a key if all features
// are equally rare, with the probability of their Jaccard similarity, within five standard errors. With few
// features values are borrowed.
func TestAgreement(t *testing.T) {
	rnd := rand.New(rand.NewPCG(2, 3))
	const trees, rounds = 16, 300
	for _, n := range []int{1, 2, 10, 50, 400} {
		for _, common := range []int{0, n / 2, n * 9 / 10, n} {
			sketches, first := 0, 0
			for range rounds {
				a := make([]uint64, n)
				for i := range a {
					a[i] = rnd.Uint64()
				}
				b := slices.Clone(a)
				for i := common; i < n; i++ {
					b[i] = rnd.Uint64()
				}
				rnd.Shuffle(n, func(i, j int) { b[i], b[j] = b[j], b[i] })
				rare := func(uint64) uint32 { return 1 }
				ka, sa := sampled(trees, a, rare)
				kb, sb := sampled(trees, b, rare)
				sketches += sa.Agreement(&sb)
				for i := range ka {
					if ka[i]>>behindFirst == kb[i]>>behindFirst {
						first++
					}
				}
			}
			j := float64(common) / float64(2*n-common)
			for name, got := range map[string]float64{"sketch": float64(sketches) / rounds / Values, "key": float64(first) / rounds / trees} {
				want := j
				if name == "sketch" { // different features have the same eight bits by chance
					want += (1 - j) / 256
				}
				// The values of one pair are not independent: there are as many as sets have features.
				independent := rounds * min(float64(n), trees)
				if sigma := math.Sqrt(want * (1 - want) / independent); math.Abs(got-want) > 5*sigma+0.002 {
					t.Errorf("%d features, %d in common: %s agrees in %.4f, not %.4f", n, common, name, got, want)
				}
			}
		}
	}
}

// TestRare: the rarer a feature is, the more keys have it, in proportion.
func TestRare(t *testing.T) {
	rnd := rand.New(rand.NewPCG(4, 4))
	const trees, rounds, half = 16, 600, 800
	rare, frequent := 0, 0
	for range rounds {
		features := make([]uint64, 2*half)
		for i := range features {
			features[i] = rnd.Uint64()
		}
		df, isRare := map[uint64]uint32{}, map[uint64]bool{}
		for i, x := range features {
			df[x] = 8
			if i < half {
				df[x] = 1
				isRare[x*0xD6E8FEB86659FD93>>(64-valueBits)] = true
			}
		}
		keys, _ := sampled(trees, features, func(x uint64) uint32 { return df[x] })
		for _, k := range keys {
			if isRare[uint64(k>>behindFirst)] {
				rare++
			} else {
				frequent++
			}
		}
	}
	if share := float64(rare) / (trees * rounds); math.Abs(share-8.0/9) > 0.01 {
		t.Errorf("%.4f of the values are of features that are eight times as rare, not %.4f", share, 8.0/9)
	}
}

// TestLeastAgreement: a set and a part of it with the cosine c agree in fewer values at most once in 300.
func TestLeastAgreement(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 5))
	const rounds = 1500
	for _, c := range []float64{0.4, 0.5, 0.7, 0.9} {
		fewer := 0
		for range rounds {
			all := make([]uint64, 500)
			for i := range all {
				all[i] = rnd.Uint64()
			}
			_, a := sampled(2, all, func(uint64) uint32 { return 1 })
			_, b := sampled(2, all[:int(c*c*500+0.5)], func(uint64) uint32 { return 1 })
			if a.Agreement(&b) < LeastAgreement(c) {
				fewer++
			}
		}
		if fewer > rounds/300 {
			t.Errorf("cosine %g: %d of %d pairs agree in fewer than %d values", c, fewer, rounds, LeastAgreement(c))
		}
	}
}

// TestGolden: keys and sketches are the same on every platform.
func TestGolden(t *testing.T) {
	features := make([]uint64, 300)
	for i := range features {
		features[i] = xxh3.HashString(fmt.Sprint(i))
	}
	keys, sketch := sampled(16, features, func(x uint64) uint32 { return uint32(x % 1000) })
	got := fmt.Sprintf("%016x", xxh3.HashString(fmt.Sprint(keys, sketch)))
	if want := "6798a43c8c46c6f1"; got != want {
		t.Errorf("%s, not %s", got, want)
	}
}

func BenchmarkSampler(b *testing.B) {
	features := make([]uint64, 800)
	for i := range features {
		features[i] = xxh3.HashString(fmt.Sprint(i))
	}
	s, keys := NewSampler(16, 1<<20), make([]Key, 16)
	for b.Loop() {
		s.Reset()
		for _, x := range features {
			s.AddWeighted(x, 1.0/800)
		}
		for _, x := range features[:200] {
			s.Add(x, uint32(x%1000), All)
		}
		s.Keys(keys)
		s.Sketch()
	}
}
