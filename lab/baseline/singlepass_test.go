package baseline

import (
	"context"
	"slices"
	"testing"

	"github.com/neardup/neardup/lab/must"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/lab/planted"
)

func TestSinglePass(t *testing.T) {
	fps := planted.Corpus()
	if len(fps) != 25_200 || fps[0] != 0xbdd732262feb6e95 || fps[20_000] != 0xbdd732262feb2e95 || fps[len(fps)-1] != 0xf5c030108478beef {
		t.Fatalf("another corpus: %d, %x, %x, %x", len(fps), fps[0], fps[20_000], fps[len(fps)-1])
	}
	components := must.Get(neardup.Components(context.Background(), fps, 3))
	for by, want := range map[Representative]int{Nearest: 310_826_600, FirstFit: 276_067_600} {
		clusters, comparisons := SinglePass(fps, 3, by)
		members := map[int]int{}
		for _, c := range clusters {
			members[c]++
		}
		large := 0
		for _, n := range members {
			if n > 1 {
				large++
			}
		}
		if len(members) != 23_200 || large != 2000 || comparisons != want || !slices.Equal(clusters, components) {
			t.Errorf("rule %d: %d clusters, %d with more than one, %d comparisons, not %d", by, len(members), large, comparisons, want)
		}
	}
}

// TestSinglePassRules checks that the rules differ where clusters grow.
func TestSinglePassRules(t *testing.T) {
	// 0 opens a cluster, and 0b11 joins it. 0b1111 is at distance 4 from the leader, and at 2 from
	// the other member.
	chain := []neardup.Fingerprint64{0, 0b11, 0b1111, 0b111111}
	for _, test := range []struct {
		by          Representative
		clusters    []int
		comparisons int
	}{
		{Nearest, []int{0, 0, 2, 2}, 1 + 1 + 2},
		{FirstFit, []int{0, 0, 2, 2}, 1 + 1 + 2},
		{AllMembers, []int{0, 0, 0, 0}, 1 + 2 + 3},
		{Majority, []int{0, 0, 2, 2}, 1 + 1 + 2},
	} {
		clusters, comparisons := SinglePass(chain, 3, test.by)
		if !slices.Equal(clusters, test.clusters) || comparisons != test.comparisons {
			t.Errorf("rule %d: %v, %d comparisons, want %v, %d", test.by, clusters, comparisons, test.clusters, test.comparisons)
		}
	}
	// Nearest: of equally near ones the oldest. FirstFit: the first that is near enough.
	two := []neardup.Fingerprint64{0, 0b11111, 0b111, 0b10011}
	for by, want := range map[Representative][]int{Nearest: {0, 1, 1, 1}, FirstFit: {0, 1, 0, 0}} {
		if clusters, _ := SinglePass(two, 3, by); !slices.Equal(clusters, want) {
			t.Errorf("rule %d: %v, want %v", by, clusters, want)
		}
	}
	// 0b11 is 2 from both leaders, so every rule gives it to the older one.
	for _, by := range []Representative{Nearest, FirstFit, AllMembers, Majority} {
		tie := []neardup.Fingerprint64{0, 0b1111, 0b11}
		if clusters, _ := SinglePass(tie, 3, by); !slices.Equal(clusters, []int{0, 1, 0}) {
			t.Errorf("rule %d: a tie gives %v", by, clusters)
		}
		tie[0], tie[1] = tie[1], tie[0]
		if clusters, _ := SinglePass(tie, 3, by); !slices.Equal(clusters, []int{0, 1, 0}) {
			t.Errorf("rule %d: a tie gives %v", by, clusters)
		}
	}
	// The centre moves with its members.
	moving := []neardup.Fingerprint64{0, 0b1, 0b1, 0b1111}
	if clusters, _ := SinglePass(moving, 3, Majority); !slices.Equal(clusters, []int{0, 0, 0, 0}) {
		t.Errorf("majority: %v", clusters)
	}
	same := make([]neardup.Fingerprint64, 100)
	different := planted.Corpus()[:100]
	for _, by := range []Representative{Nearest, FirstFit, Majority} {
		if _, n := SinglePass(same, 3, by); n != 99 {
			t.Errorf("rule %d: %d comparisons of equal fingerprints, not n−1", by, n)
		}
		if _, n := SinglePass(different, 3, by); n != 100*99/2 {
			t.Errorf("rule %d: %d comparisons of different fingerprints, not n(n−1)/2", by, n)
		}
	}
}
