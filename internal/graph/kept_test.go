package graph

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestRepresentatives: in random graphs, no two representatives of groups around centres, or of complete groups, are a pair, and every
// vertex is paired with its own. Complete groups are those of CompleteLinks wherever these have a representative.
func TestRepresentatives(t *testing.T) {
	for seed := range uint64(3000) {
		rnd := rand.New(rand.NewPCG(seed, 9))
		n := 1 + rnd.IntN(14)
		near := map[[2]int]bool{}
		var pairs []Pair
		for range rnd.IntN(1 + 2*n) {
			a, b := rnd.IntN(n), rnd.IntN(n)
			if a == b || near[[2]int{a, b}] {
				continue
			}
			near[[2]int{a, b}], near[[2]int{b, a}] = true, true
			pairs = append(pairs, Pair{a, b, float64(rnd.IntN(4)) / 4})
		}
		rank := rnd.Perm(n)
		for name, before := range map[string]func(i, j int) bool{"none": nil, "random": func(i, j int) bool { return rank[i] < rank[j] }, "coarse": func(i, j int) bool { return rank[i]/3 < rank[j]/3 }} {
			for by, of := range map[string][]int{"centres": Centres(n, slices.Values(pairs), before), "complete": Complete(n, slices.Values(pairs), before)} {
				for i, root := range of {
					if of[root] != root || i != root && !near[[2]int{i, root}] {
						t.Fatalf("seed %d, %s, %s: %d belongs to %d of %v, pairs %v", seed, by, name, i, root, of, pairs)
					}
				}
				for _, p := range pairs {
					if of[p.A] == p.A && of[p.B] == p.B {
						t.Fatalf("seed %d, %s, %s: %d and %d represent groups in %v, pairs %v", seed, by, name, p.A, p.B, of, pairs)
					}
				}
			}
		}
		// Groups stay as they are, as far as one of their members is a representative.
		complete, links := Complete(n, slices.Values(pairs), nil), CompleteLinks(n, slices.Values(pairs))
		for i := range n {
			for j := range n {
				if has := slices.ContainsFunc(complete, func(root int) bool { return links[root] == links[i] }); has && links[i] == links[j] && complete[i] != complete[j] {
					t.Fatalf("seed %d: %d and %d are apart in %v, and were together in %v", seed, i, j, complete, links)
				}
			}
		}
		slices.SortFunc(pairs, func(a, b Pair) int { return cmp.Compare(b.Similarity, a.Similarity) })
		if again := Complete(n, slices.Values(pairs), nil); !slices.Equal(again, complete) {
			t.Fatalf("seed %d: with the pairs in another order %v, not %v", seed, again, complete)
		}
	}
}
