package neardup

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
)

// signatures returns n signatures of k random values, as of sets of many features, of which
// every hundredth is one of those before with about a fifth of its values changed.
func signatures(n, k int, seed uint64) []Signature {
	rnd := rand.New(rand.NewPCG(seed, uint64(k)))
	out := make([]Signature, n)
	values := make([]uint32, n*k)
	for i := range out {
		s := Signature(values[i*k:][:k:k])
		for j := range s {
			s[j] = rnd.Uint32() >> 1
		}
		if i%100 == 99 {
			other := out[rnd.IntN(i)]
			for j := range s {
				if rnd.IntN(5) != 0 {
					s[j] = other[j]
				}
			}
		}
		out[i] = s
	}
	return out
}

// planted returns a signature with about a fifth of the values changed.
func planted(s Signature, rnd *rand.Rand) Signature {
	s = append(Signature(nil), s...)
	for j := range s {
		if rnd.IntN(5) == 0 {
			s[j] = rnd.Uint32() >> 1
		}
	}
	return s
}

// BenchmarkSignatureIndex measures searches (half of them for what is stored, with a fifth
// of the values changed), additions one by one, and all candidate pairs, from signatures in
// memory:
//
//	NEARDUP_LARGE=1 go test -run '^$' -bench SignatureIndex -cpu 1,2 .
func BenchmarkSignatureIndex(b *testing.B) {
	for _, n := range []int{100_000, 1_000_000} {
		if n > 100_000 && os.Getenv("NEARDUP_LARGE") == "" {
			continue
		}
		sigs := signatures(n, 128, 1)
		add := func(yield func(uint64, Signature) bool) {
			for i, s := range sigs {
				if !yield(uint64(i), s) {
					return
				}
			}
		}
		for _, bits := range []int{32, 8, 1} {
			options := &SignatureIndexOptions{Bits: bits, Banding: Banding{32, 4}}
			newIndex := func() *SignatureIndex[uint64] {
				ix, err := NewSignatureIndex[uint64](0.5, options)
				if err != nil {
					b.Fatal(err)
				}
				return ix
			}
			b.Run(fmt.Sprintf("n=%d/bits=%d/search", n, bits), func(b *testing.B) {
				ix := newIndex()
				if err := ix.AddAll(add); err != nil {
					b.Fatal(err)
				}
				rnd := rand.New(rand.NewPCG(2, 2))
				queries := signatures(1<<13, 128, 3)
				for i := 0; i < len(queries); i += 2 {
					queries[i] = planted(sigs[rnd.IntN(n)], rnd)
				}
				found := 0
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					for range ix.Search(queries[i%len(queries)]) {
						found++
					}
				}
				b.ReportMetric(float64(found)/float64(b.N), "found/op")
				b.ReportMetric(float64(ix.state.Load().runs[0].bytes())/float64(n), "B/signature")
			})
			b.Run(fmt.Sprintf("n=%d/bits=%d/add", n, bits), func(b *testing.B) {
				ix := newIndex()
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					if i%n == 0 {
						ix = newIndex()
					}
					ix.Add(uint64(i), sigs[i%n])
				}
			})
			b.Run(fmt.Sprintf("n=%d/bits=%d/pairs", n, bits), func(b *testing.B) {
				found := 0
				for b.Loop() {
					ix := newIndex()
					if err := ix.AddAll(add); err != nil {
						b.Fatal(err)
					}
					for range ix.CandidatePairs() {
						found++
					}
				}
				b.ReportMetric(float64(found)/float64(b.N), "pairs/op")
			})
		}
	}
}
