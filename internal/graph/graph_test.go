package graph

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestComponentsOf compares with a Forest, on random graphs, and counts what is looked at: what was
// dropped must not be asked for again.
func TestComponentsOf(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		n := 1 + rnd.IntN(100)
		all := NewForest(n)
		edges := make([][]int, n)
		for range rnd.IntN(2 * n) {
			a, b := rnd.IntN(n), rnd.IntN(n)
			all.Join(a, b)
			edges[a], edges[b] = append(edges[a], b), append(edges[b], a)
		}
		dropped := make([]bool, n)
		looks := 0
		got := ComponentsOf(n, func(is []int, use func(i int, near []Edge)) {
			for _, i := range is {
				var near []Edge
				for _, j := range edges[i] {
					if !dropped[j] {
						near = append(near, Edge{To: j})
					}
				}
				looks++
				use(i, near)
			}
		}, func(reached func(i int) bool) {
			for i := range dropped {
				dropped[i] = reached(i)
			}
		})
		if want := all.Roots(); !slices.Equal(got, want) || looks != n {
			t.Fatalf("%v after %d looks, want %v", got, looks, want)
		}
	}
}

// TestComponentsOfClique: of one large group all are dropped after the first look.
func TestComponentsOfClique(t *testing.T) {
	const n = 3000
	left, listed := n, 0
	gone := make([]bool, n)
	ComponentsOf(n, func(is []int, use func(i int, near []Edge)) {
		for _, i := range is {
			var near []Edge
			for j := range n {
				if left > 0 && !gone[j] && j != i {
					near = append(near, Edge{To: j})
				}
			}
			listed += len(near)
			use(i, near)
		}
	}, func(reached func(i int) bool) {
		left = 0
		for i := range gone {
			if gone[i] = reached(i); !gone[i] {
				left++
			}
		}
	})
	if listed > 2*n {
		t.Errorf("%d edges of a group of %d were listed", listed, n)
	}
}

// TestCentresOfLooks: a large group behind many lonely vertices costs few looks more than its centre.
func TestCentresOfLooks(t *testing.T) {
	const lonely, group = 5000, 20_000
	looks := 0
	of := CentresOf(lonely+group, nil, func(is []int, covered func(i int) bool, use func(i int, near []Edge)) {
		for _, i := range is {
			if covered(i) {
				use(i, nil)
				continue
			}
			looks++
			var near []Edge
			for j := lonely; i >= lonely && j < lonely+group; j++ {
				if j != i {
					near = append(near, Edge{To: j, Similarity: 0.9})
				}
			}
			use(i, near)
		}
	})
	if looks != lonely+1 {
		t.Errorf("%d looks for %d centres", looks, lonely+1)
	}
	for i, c := range of {
		if c != min(i, lonely) {
			t.Fatalf("%d belongs to %d", i, c)
		}
	}
}
