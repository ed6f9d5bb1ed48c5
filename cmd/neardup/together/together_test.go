package together

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestSort: the order is that of package slices, for any number of workers, with many equal elements, in order and not.
func TestSort(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 2 * leastSorted, 2*leastSorted + 1, 100_001} {
		for _, values := range []int{1, 3, 1000, 1 << 40} {
			s := make([]int, n)
			for i := range s {
				s[i] = r.IntN(values)
			}
			want := slices.Clone(s)
			slices.Sort(want)
			for _, workers := range []int{1, 2, 3, 8, 64} {
				got := slices.Clone(s)
				if Sort(workers, got, cmp.Compare[int]); !slices.Equal(got, want) {
					t.Fatalf("%d of %d values by %d workers: not in order", n, values, workers)
				}
			}
			if Sort(4, want, func(a, b int) int { return cmp.Compare(b, a) }); !slices.IsSortedFunc(want, func(a, b int) int { return cmp.Compare(b, a) }) {
				t.Fatal("from the other end: not in order")
			}
		}
	}
}

// TestEach: each number comes once.
func TestEach(t *testing.T) {
	for _, workers := range []int{1, 3, 100} {
		n := make([]int, 1000)
		Each(workers, len(n), func(i int) { n[i]++ })
		if slices.Min(n) != 1 || slices.Max(n) != 1 {
			t.Errorf("%d workers: %v", workers, n)
		}
	}
}
