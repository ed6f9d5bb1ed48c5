package graph

import "testing"

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
