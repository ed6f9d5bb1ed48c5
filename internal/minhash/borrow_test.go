package minhash

import (
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/neardup/neardup/internal/kernel"
)

// TestBorrow compares the tables with the orders drawn step by step, for all numbers of features.
func TestBorrow(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 3))
	kernel.EachTier(func(tier kernel.Tier) {
		for _, k := range []int{16, 17, 31, 64, 100, 127, 128, 255, 256, 257, 400, 1024, 4096} {
			for n := 0; n <= min(k, 800); n += 1 + n/8 {
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
	})
}

// TestSign compares with Add and Borrow, for all numbers of features, some of them equal.
func TestSign(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for _, k := range []int{16, 17, 100, 128, 256, 257, 400, 4096} {
		for n := range few + 1 {
			hashes := make([]uint64, n)
			for i := range hashes {
				hashes[i] = rnd.Uint64()
				if i > 0 && rnd.IntN(5) == 0 {
					hashes[i] = hashes[rnd.IntN(i)]
				}
			}
			got, want := slices.Repeat([]uint32{EmptyBin}, k), slices.Repeat([]uint32{EmptyBin}, k)
			Sign(got, hashes, false)
			Add(want, hashes, false)
			borrowSlowly(want)
			if !slices.Equal(got, want) {
				t.Fatalf("%d features of %d values: %v, want %v", n, k, got, want)
			}
		}
	}
}

// TestBorrowNever: where the rows do not say which bin comes first, it is looked for.
func TestBorrowNever(t *testing.T) {
	const k = 301 // of no other test
	never := slices.Repeat([]uint16{kernel.Never}, k)
	rows := make([]atomic.Pointer[[]uint16], k)
	for b := range rows {
		rows[b].Store(&never)
	}
	wide[k].Store(&lenders{rows})
	defer wide[k].Store(nil)
	rnd := rand.New(rand.NewPCG(3, 5))
	kernel.EachTier(func(tier kernel.Tier) {
		got := slices.Repeat([]uint32{EmptyBin}, k)
		for _, i := range rnd.Perm(k)[:7] {
			got[i] = rnd.Uint32() >> 1
		}
		want := slices.Clone(got)
		Borrow(got)
		borrowSlowly(want)
		if !slices.Equal(got, want) {
			t.Fatalf("%v: %v, want %v", tier, got, want)
		}
	})
}
