package graph

import (
	"iter"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestByComponent: groups are those of the whole graph.
func TestByComponent(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		n := rnd.IntN(60)
		var pairs []Pair
		for range rnd.IntN(2*n + 1) {
			pairs = append(pairs, Pair{rnd.IntN(n), rnd.IntN(n), float64(rnd.IntN(4))})
		}
		rank := rnd.Perm(n)
		for k := range rank {
			rank[k] /= 3
		}
		for name, group := range map[string]func(n int, pairs iter.Seq[Pair], before func(i, j int) bool) []int{"centres": Centres, "complete": Complete} {
			for _, before := range []func(i, j int) bool{nil, func(i, j int) bool { return rank[i] < rank[j] }} {
				want := group(n, slices.Values(pairs), before)
				if got := ByComponent(n, slices.Values(pairs), before, group); !slices.Equal(got, want) {
					t.Fatalf("%s of %v: %v instead of %v", name, pairs, got, want)
				}
			}
		}
	}
}
