package minhash

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/neardup/neardup/internal/kernel"
)

// TestBorrow compares the tables with the orders drawn step by step, for all numbers of features.
func TestBorrow(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 3))
	defer kernel.Use(kernel.Tiers()[len(kernel.Tiers())-1])
	for _, tier := range kernel.Tiers() {
		kernel.Use(tier)
		for _, k := range []int{16, 17, 31, 64, 100, 127, 128, 255, 256, 257, 400} {
			for n := 0; n <= k; n += 1 + n/8 {
				got := slices.Repeat([]uint32{EmptyBin}, k)
				for _, i := range rnd.Perm(k)[:n] {
					got[i] = rnd.Uint32() >> 1
				}
				want := slices.Clone(got)
				Borrow(got)
				borrowSlowly(want)
				if !slices.Equal(got, want) {
					t.Fatalf("%v: %d of %d values: %v, want %v", tier, n, k, got, want)
				}
			}
		}
	}
}
