package neardup

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

func random64(n int, seed uint64) []Fingerprint64 {
	rnd := rand.New(rand.NewPCG(seed, 0))
	fps := make([]Fingerprint64, n)
	for i := range fps {
		fps[i] = Fingerprint64(rnd.Uint64())
	}
	return fps
}

func BenchmarkPairs(b *testing.B) {
	for _, n := range []int{10_000, 1_000_000} {
		fps := random64(n, 1)
		for i := range n / 100 { // one in a hundred has a near-duplicate
			fps[n-1-i] = fps[i] ^ 1<<(i%64) ^ 1<<(i*7%64)
		}
		b.Run(fmt.Sprintf("n=%d/distance=3/bits=64", n), func(b *testing.B) {
			for b.Loop() {
				found := 0
				for range Pairs(fps, 3) {
					found++
				}
				if found < n/100 {
					b.Fatal("lost pairs", found)
				}
			}
		})
	}
}
