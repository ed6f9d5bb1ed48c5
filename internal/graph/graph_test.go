package graph

import (
	"math/rand/v2"
	"testing"
)

// TestEqual: each item belongs to the first one that is equal, for any hash that equal ones share, also one that is the same for all.
func TestEqual(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 5))
	for _, n := range []int{0, 1, 2, 1000, 1<<16 + 1, 200_000} {
		for name, hash := range map[string]func(x int) uint64{"good": func(x int) uint64 { return uint64(x+1) * 0x9E3779B97F4A7C15 }, "low": func(x int) uint64 { return uint64(x) }, "none": func(int) uint64 { return 7 }} {
			kinds := 1 + n/3
			if name != "good" {
				kinds = 20 // so many that have one hash are looked at one after the other
			}
			items, first := make([]int, n), map[int]int{}
			var different []int
			for i := range items {
				items[i] = rnd.IntN(kinds)
				if _, ok := first[items[i]]; !ok {
					first[items[i]] = i
					different = append(different, i)
				}
			}
			e := NewEqual(n, func(i int) uint64 { return hash(items[i]) }, func(i, j int) bool { return items[i] == items[j] })
			if len(e.Different) != len(different) {
				t.Fatalf("%d items, %s: %d are different, not %d", n, name, len(e.Different), len(different))
			}
			alone := make([]int, len(different))
			for k, i := range e.Different {
				if alone[k] = k; i != different[k] {
					t.Fatalf("%d items, %s: the different item %d stands at %d, not at %d", n, name, k, i, different[k])
				}
			}
			for i, f := range e.Spread(alone) {
				if f != first[items[i]] {
					t.Fatalf("%d items, %s: %d belongs to %d, not to %d", n, name, i, f, first[items[i]])
				}
			}
		}
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
