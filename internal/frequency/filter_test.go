package frequency

import (
	"math/rand/v2"
	"testing"
)

// TestFilter: a filter never denies what was added, and denies most of what was not.
func TestFilter(t *testing.T) {
	for _, n := range []int{0, 1, 7, 8, 1000, 100_000} {
		rnd := rand.New(rand.NewPCG(1, uint64(n)))
		f := NewFilter(n)
		keys := make([]uint64, n)
		for i := range keys {
			keys[i] = rnd.Uint64()
			f.Add(keys[i])
		}
		for _, key := range keys {
			if !f.MayHave(key) {
				t.Fatalf("%d keys: %x is denied", n, key)
			}
		}
		wrong := 0
		for range 10_000 {
			if f.MayHave(rnd.Uint64()) {
				wrong++
			}
		}
		if wrong > 1500 { // one in 8 at most, and chance
			t.Errorf("%d keys: %d of 10,000 others are not denied", n, wrong)
		}
	}
}
