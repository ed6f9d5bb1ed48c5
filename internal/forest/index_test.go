package forest

import (
	"fmt"
	"slices"
	"testing"
)

// TestIndex: sets that were there from the beginning and sets that came later are found by what they have in
// common with a key, and at least those of the first value where a bucket is small.
func TestIndex(t *testing.T) {
	const n, trees = 3 * tailSize, 4
	keys := randomSets(n, trees)
	for i := range keys { // more different first values than there, so that most buckets are small
		keys[i] ^= Key(i/trees%(n/10)) << behindFirst
	}
	first := must(NewKeys(trees, n/3, false))
	first.Set(0, keys[:n/3*trees])
	x := NewIndex(first, func(i int) uint32 { return uint32(i) })
	for i := n / 3; i < n; i++ {
		x.Add(uint32(i), keys[i*trees:][:trees])
	}
	for i := 0; i < n; i += 7 {
		found := map[uint32]bool{}
		x.Search(keys[i*trees:][:trees], func(set uint32) { found[set] = true })
		if !found[uint32(i)] {
			t.Fatalf("set %d does not find itself", i)
		}
		for j := range n {
			share, in := 0, 0 // how many trees have both in a bucket by the first value, and by all
			for tree := range trees {
				a, b := keys[i*trees+tree], keys[j*trees+tree]
				if a>>behindFirst == b>>behindFirst {
					share++
				}
				if a == b {
					in++
				}
			}
			if in > 0 && !found[uint32(j)] || share == 0 && found[uint32(j)] {
				t.Fatalf("set %d, which shares %d first values and %d keys with set %d, is found: %v", j, share, in, i, found[uint32(j)])
			}
		}
	}
	if len(x.runs) > 3 {
		t.Errorf("%d runs", len(x.runs))
	}
	for _, r := range x.runs {
		for tree := range r {
			if !slices.IsSortedFunc(r[tree], before) {
				t.Error(fmt.Sprint("tree ", tree, " is not sorted"))
			}
		}
	}
}
